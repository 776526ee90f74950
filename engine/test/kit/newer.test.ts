import fc from 'fast-check';
import { expect, it } from 'vitest';
import { commit } from '../../src/db/client.ts';
import { newer } from '../../src/kit/index.ts';
import { useDatabase } from '../database.ts';
import { states } from '../fixture/tables.ts';
import { RUNS } from '../pure/generators.ts';

const database = useDatabase();
const { sql } = database;

const at = (second: number) => new Date(Date.UTC(2026, 2, 1, 12, 0, second));

/** The upsert that a handler returns, as it is committed. */
const write = ({ id, second }: { id: string; second: number }) => {
  const set = { state: `by ${id}`, changedAt: at(second), changedBy: id };
  return database.readOnly
    .insert(states)
    .values({ thing: 'a', ...set })
    .onConflictDoUpdate({ target: states.thing, set, setWhere: newer(states.changedAt, states.changedBy) })
    .toSQL();
};

it('a row that is written with newer() is that of the newest event, and of the highest id among those of one moment', () =>
  fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd'), second: fc.constantFrom(1, 2, 3) }), {
        selector: ({ id }) => id,
        minLength: 2,
      }),
      fc.boolean(),
      async (changes, inOneTransaction) => {
        await sql('delete from fixture.states');
        const statements = changes.map(write);
        if (inOneTransaction) await commit(database.consumer, statements);
        else for (const statement of statements) await commit(database.consumer, [statement]);
        const newest = changes.toSorted((a, b) => a.second - b.second || (a.id < b.id ? -1 : 1)).at(-1);
        expect(await sql('select state, changed_by from fixture.states')).toEqual([
          { state: `by ${newest?.id}`, changed_by: newest?.id },
        ]);
      },
    ),
    RUNS,
  ));
