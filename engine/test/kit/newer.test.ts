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
const write = ({ id, second, received }: { id: string; second: number; received: number }) => {
  const set = { state: `by ${id}`, changedAt: at(second), receivedAt: at(received), changedBy: id };
  return database.readOnly
    .insert(states)
    .values({ thing: 'a', ...set })
    .onConflictDoUpdate({
      target: states.thing,
      set,
      setWhere: newer(states.changedAt, states.receivedAt, states.changedBy),
    })
    .toSQL();
};

it('a row that is written with newer() is that of the newest event, of one moment that of the latest receipt, and of both the highest id', () =>
  fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(
        fc.record({
          id: fc.constantFrom('a', 'b', 'c', 'd'),
          second: fc.constantFrom(1, 2, 3),
          received: fc.constantFrom(4, 5),
        }),
        { selector: ({ id }) => id, minLength: 2 },
      ),
      fc.boolean(),
      async (changes, inOneTransaction) => {
        await sql('delete from fixture.states');
        const statements = changes.map(write);
        if (inOneTransaction) await commit(database.consumer, statements);
        else for (const statement of statements) await commit(database.consumer, [statement]);
        const newest = changes
          .toSorted((a, b) => a.second - b.second || a.received - b.received || (a.id < b.id ? -1 : 1))
          .at(-1);
        expect(await sql('select state, changed_by from fixture.states')).toEqual([
          { state: `by ${newest?.id}`, changed_by: newest?.id },
        ]);
      },
    ),
    RUNS,
  ));
