import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { useDatabase } from '../database.ts';

const database = useDatabase();

it('the SQL of docs/deploy.md that erases a person leaves the keys, and nothing of the person', async () => {
  const [, erase = ''] = /```sql\n(begin;\n.*?)```/s.exec(readFileSync('docs/deploy.md', 'utf8')) ?? [];
  expect(erase).toContain('jane@example.com');
  const { sql } = database;
  await sql(`
    insert into webhooks.events (source, event_id, received_at, due_at, status, failure, last_error, completions) values
      ('s', 'done', now(), now(), 'done', null, null, 1),
      ('s', 'parked', now(), now(), 'parked', 'handler', null, 0),
      ('s', 'pending', now(), now(), 'pending', null, null, 0),
      ('s', 'in an error', now(), now(), 'parked', 'handler', 'no such customer: jane@example.com', 0),
      ('s', 'in an effect', now(), now(), 'done', null, null, 1),
      ('s', 'of another', now(), now(), 'parked', 'handler', 'john@example.com', 0)`);
  await sql(`
    insert into webhooks.bodies (source, event_id, body, headers, received_at)
    select source, event_id,
      case when event_id in ('done', 'parked', 'pending') then '{"to":"jane@example.com"}' else '{}' end, '{}', now()
    from webhooks.events`);
  await sql(`
    insert into webhooks.effects (source, event_id, name, kind, payload, due_at)
    select source, event_id, 'mail', 'mail', case event_id when 'of another' then '{}' else '{"to":"jane@example.com"}' end, now()
    from webhooks.events where event_id like 'in an effect' or event_id like 'of another'`);

  await sql(`insert into webhooks.cancellations (source, kind, cancel_key, cancelled_at)
    select 's', 'mail', key, now() from unnest(array['jane@example.com', 'john@example.com']) as key`);
  await sql(`insert into webhooks.effects (source, event_id, name, kind, payload, due_at, cancel_key)
    values ('s', 'in an effect', 'later', 'mail', '{}', now(), 'trial of jane@example.com')`);

  for (let n = 0; n < 2; n++) await sql(erase);

  expect(await sql('select event_id, status, last_error from webhooks.events order by 1')).toEqual([
    { event_id: 'done', status: 'done', last_error: null },
    { event_id: 'in an effect', status: 'done', last_error: null },
    { event_id: 'in an error', status: 'ignored', last_error: null },
    { event_id: 'of another', status: 'parked', last_error: 'john@example.com' },
    { event_id: 'parked', status: 'ignored', last_error: null },
    { event_id: 'pending', status: 'ignored', last_error: null },
  ]);
  expect(await sql('select cancel_key from webhooks.cancellations')).toEqual([{ cancel_key: 'john@example.com' }]);
  const left = 'select event_id from webhooks.bodies union all select event_id from webhooks.effects order by 1';
  expect(await sql(left)).toEqual([{ event_id: 'of another' }, { event_id: 'of another' }]);
});
