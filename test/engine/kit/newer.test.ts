import { beforeEach, describe, expect, it } from 'vitest';
import { commit } from '../../../src/db/client.ts';
import { newer } from '../../../src/kit/index.ts';
import { useDatabase } from '../database.ts';
import { states } from '../fixture/tables.ts';

const database = useDatabase();
const { sql } = database;

const at = (second: number) => new Date(Date.UTC(2026, 2, 1, 12, 0, second));

interface Change {
  readonly id: string;
  readonly state: string;
  readonly second: number;
}

/** The upsert that a handler returns, as it is committed. */
const write = ({ id, state, second }: Change) => {
  const set = { state, changedAt: at(second), changedBy: id };
  return database.readOnly
    .insert(states)
    .values({ thing: 'a', ...set })
    .onConflictDoUpdate({ target: states.thing, set, setWhere: newer(states.changedAt, states.changedBy) })
    .toSQL();
};

const result = () => sql('select state, changed_by from fixture.states');

beforeEach(() => sql('delete from fixture.states'));

describe('a row that is written with newer()', () => {
  const changes: Record<string, Change> = {
    a: { id: 'a', state: 'first', second: 1 },
    b: { id: 'b', state: 'second', second: 2 },
    c: { id: 'c', state: 'third', second: 3 },
    d: { id: 'd', state: 'fourth', second: 4 },
  };

  it.each(permutations(['a', 'b', 'c', 'd']))(
    'is that of the newest event if they are worked as %s, %s, %s, %s',
    async (...order) => {
      for (const id of order) await commit(database.consumer, [write(changes[id] as Change)]);
      expect(await result()).toEqual([{ state: 'fourth', changed_by: 'd' }]);
    },
  );

  it.each(permutations(['a', 'b', 'c']))(
    'is that of the highest id among events of one moment if they are worked as %s, %s, %s',
    async (...order) => {
      for (const id of order) await commit(database.consumer, [write({ id, state: `by ${id}`, second: 1 })]);
      expect(await result()).toEqual([{ state: 'by c', changed_by: 'c' }]);
    },
  );

  it('is that of the newest event if all of them commit in one transaction', async () => {
    const [first, second, third] = [changes.d, changes.a, changes.c].map((change) => write(change as Change));
    if (first && second && third) await commit(database.consumer, [first, second, third]);
    expect(await result()).toEqual([{ state: 'fourth', changed_by: 'd' }]);
  });
});

function permutations(values: string[]): string[][] {
  if (values.length <= 1) return [values];
  return values.flatMap((first) =>
    permutations(values.filter((value) => value !== first)).map((rest) => [first, ...rest]),
  );
}
