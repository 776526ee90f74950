import { expect, it } from 'vitest';
import { listParked } from '../../../scripts/local/parked.ts';
import { useDatabase } from '../database.ts';

const database = useDatabase();

it('npm run replay -- list shows parked events and effects, and only those that its filter matches', async () => {
  await database.sql(`
    insert into webhook_events (source, event_id, type, received_at, due_at, status, attempts, last_error)
    values ('shop', 'evt_1', 'paid', '2026-03-01', now(), 'parked', 12, 'Error: no'),
           ('shop', 'evt_2', 'paid', '2026-03-02', now(), 'done', 1, null),
           ('blog', 'evt_3', 'post', '2026-03-03', now(), 'parked', 1, 'Error: never')`);
  await database.sql(`
    insert into webhook_effects (source, event_id, name, kind, payload, status, due_at, attempts, last_error)
    values ('shop', 'evt_2', 'receipt', 'receipt', '{}', 'parked', now(), 3, 'Error: 500')`);
  expect(await listParked(database.db, {})).toMatch(/^3 parked:\n/);
  expect((await listParked(database.db, { source: 'shop', type: 'paid' })).split('\n')).toEqual([
    '2 parked:',
    '2026-03-02 00:00:00Z  shop  evt_2  effect receipt  paid  3 attempts  Error: 500',
    '2026-03-01 00:00:00Z  shop  evt_1  paid  12 attempts  Error: no',
  ]);
  expect(await listParked(database.db, { since: new Date('2026-03-03') })).toContain('1 parked:');
});
