import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { useDatabase } from '../database.ts';
import { seed } from '../seed.ts';

const database = useDatabase();

it('the SQL of docs/erasure.md that erases a person leaves the keys, and nothing of the person', async () => {
  const [, erase = ''] = /```sql\n(begin;\n.*?)```/s.exec(readFileSync('docs/erasure.md', 'utf8')) ?? [];
  expect(erase).toContain('jane@example.com');
  const { sql } = database;
  const jane = '{"to":"jane@example.com"}';
  const at = new Date();
  const write = (event_id: string, body: string | undefined, effect: string | undefined, event = {}) =>
    seed(
      database,
      { parked: 1, effects: effect ? { pending: 1 } : {} },
      {
        at,
        event: { event_id, last_error: null, ...event },
        effect: { payload: effect },
        ...(body !== undefined && { body }),
      },
    );
  const done = { status: 'done', completions: 1, failure: null };
  await write('done', jane, undefined, done);
  await write('parked', jane, undefined);
  await write('with its body', undefined, undefined, { body_of: 'parked' });
  await write('pending', jane, undefined, { status: 'pending', failure: null, finished_at: null });
  await write('in an error', '{}', undefined, { last_error: 'no such customer: jane@example.com' });
  await write('in an effect', '{}', jane, done);
  await write('of another', '{}', '{}', { last_error: 'john@example.com' });

  await sql(`insert into webhooks.cancellations (source, kind, cancel_key, cancelled_at)
    select 'stripe', 'mail', key, now() from unnest(array['jane@example.com', 'john@example.com']) as key`);
  await sql(`insert into webhooks.effects (source, event_id, name, kind, payload, due_at, cancel_key)
    values ('stripe', 'in an effect', 'later', 'mail', '{}', now(), 'trial of jane@example.com')`);

  for (let n = 0; n < 2; n++) await sql(erase);

  expect(await sql('select event_id, status, last_error from webhooks.events order by 1')).toEqual([
    { event_id: 'done', status: 'done', last_error: null },
    { event_id: 'in an effect', status: 'done', last_error: null },
    { event_id: 'in an error', status: 'ignored', last_error: null },
    { event_id: 'of another', status: 'parked', last_error: 'john@example.com' },
    { event_id: 'parked', status: 'ignored', last_error: null },
    { event_id: 'pending', status: 'ignored', last_error: null },
    { event_id: 'with its body', status: 'ignored', last_error: null },
  ]);
  expect(await sql('select cancel_key from webhooks.cancellations')).toEqual([{ cancel_key: 'john@example.com' }]);
  const left = 'select event_id from webhooks.bodies union all select event_id from webhooks.effects order by 1';
  expect(await sql(left)).toEqual([{ event_id: 'of another' }, { event_id: 'of another' }]);
});
