import { beforeEach, expect, it, vi } from 'vitest';
import { tick } from '../../src/consumer/consumer.ts';
import { claim } from '../../src/db/claim.ts';
import { useDatabase } from '../database.ts';
import { FakeQueue } from '../fake-queue.ts';
import { claimRequest } from '../new-event.ts';
import { neonAnswer } from '../receiver/in-node.ts';

const database = useDatabase();
const { sql } = database;

const NOW = new Date('2026-03-01T12:00:00Z');
const later = ({ minutes = 0, days = 0 }) => new Date(NOW.getTime() + minutes * 60_000 + days * 86_400_000);

let queues: { EVENTS: FakeQueue; EFFECTS: FakeQueue };
let lines: object[];
/** The tickets on both queues. */
const sent = () => Object.values(queues).flatMap(({ tickets }) => tickets);

beforeEach(async () => {
  await sql('delete from webhooks.events');
  queues = { EVENTS: new FakeQueue(), EFFECTS: new FakeQueue() };
  lines = [];
});

/** Runs the cron, while some queues refuse. */
async function run(now: Date, ...refusing: (keyof typeof queues)[]): Promise<void> {
  return runWith({ DEDUPE_DAYS: 30, BODY_DAYS: 7 }, now, refusing);
}

async function runWith(days: object, now: Date, refusing: readonly (keyof typeof queues)[] = []): Promise<void> {
  for (const [name, queue] of Object.entries(queues)) queue.refuses = refusing.some((one) => one === name);
  const env = { DATABASE_URL: database.stack.workerUrls.consumer, ...queues, ...days };
  await tick(env as unknown as ConsumerEnv, now, (line) => lines.push(line));
}

const claimMany = (count: number) => {
  const ids = Array.from({ length: count }, (_, n) => `evt_${n}`);
  return claim(database.receiver, claimRequest(ids, { receivedAt: NOW }));
};

it('a queue that refuses ends the sweep, and old events are pruned all the same', async () => {
  await claimMany(1200);
  await run(later({ minutes: 15 }), 'EVENTS', 'EFFECTS');
  expect(lines).toEqual([
    { step: 'sweep', outcome: 'not_sent', events: 500, effects: 0 },
    { step: 'prune', outcome: 'done', events: 0, bodies: 0 },
  ]);
});

it('a run sends the tickets of both, counts each, and says so if one of the queues refuses', async () => {
  await claimMany(5);
  await sql(
    `update webhooks.events set status = 'done', finished_at = received_at where event_id in ('evt_0', 'evt_1')`,
  );
  await sql(
    `insert into webhooks.effects (source, event_id, name, kind, payload, due_at)
     select source, event_id, name, 'mail', '{}', $1 from webhooks.events, unnest(array['a', 'b']) name where status = 'done'`,
    [NOW],
  );
  await run(later({ minutes: 15 }), 'EFFECTS');
  expect([lines[0], sent().length]).toEqual([{ step: 'sweep', outcome: 'not_sent', events: 3, effects: 4 }, 3]);
  await run(later({ minutes: 45 }));
  expect([lines[2], sent().length]).toEqual([{ step: 'sweep', outcome: 'done', events: 3, effects: 4 }, 3 + 7]);
});

it('a run sends every overdue ticket once, but five thousand at most, so that a backlog is not doubled at once', async () => {
  await sql(
    `insert into webhooks.events (source, event_id, received_at, due_at)
     select 'test', 'evt_' || n, $1, $1 from generate_series(1, 5600) n`,
    [NOW],
  );
  for (const events of [5000, 600]) {
    await run(later({ minutes: 15 }));
    expect(lines.at(-2)).toEqual({ step: 'sweep', outcome: 'done', events, effects: 0 });
  }
  expect(new Set(sent().map((ticket) => JSON.stringify(ticket))).size).toBe(5600);
});

it('a run prunes several chunks if that many events and bodies are old', async () => {
  await claimMany(2500);
  await sql(`update webhooks.events set status = 'done', finished_at = received_at`);
  await run(later({ days: 8 }));
  await run(later({ days: 31 }));
  expect(lines).toEqual([
    expect.objectContaining({ step: 'sweep' }),
    { step: 'prune', outcome: 'done', events: 0, bodies: 2500 },
    expect.objectContaining({ step: 'sweep' }),
    { step: 'prune', outcome: 'done', events: 2500, bodies: 0 },
  ]);
});

it.each(['', ' ', '0', 0, -1, '-1', 0.5, 'thirty', null, undefined, true])(
  'a run with %j as a number of days prunes nothing, and says which variable is wrong',
  async (wrong) => {
    await claimMany(1);
    await sql(`update webhooks.events set status = 'done', finished_at = received_at`);
    const right = { DEDUPE_DAYS: 30, BODY_DAYS: 7 };
    for (const variable of ['DEDUPE_DAYS', 'BODY_DAYS']) {
      await runWith({ ...right, [variable]: wrong }, later({ days: 365 }));
      expect(lines.at(-1)).toEqual({ step: 'configuration', outcome: 'invalid_days', variable });
    }
    expect(await sql('select from webhooks.events natural join webhooks.bodies')).toHaveLength(1);
    await runWith({ DEDUPE_DAYS: '1', BODY_DAYS: '1' }, later({ days: 2 }));
    expect(lines.at(-1)).toEqual({ step: 'prune', outcome: 'done', events: 1, bodies: 0 });
  },
);

it('a run prunes three hundred chunks at most, and says that more may be left', async () => {
  const row = { events: 1000, bodies: 1000 };
  const fetched = vi.spyOn(globalThis, 'fetch').mockImplementation(async (_url, init) => {
    const { query } = JSON.parse(String(init?.body));
    return query.includes('pruned_events') ? neonAnswer(row) : neonAnswer();
  });
  await run(NOW).finally(() => fetched.mockRestore());
  expect(lines.at(-1)).toEqual({ step: 'prune', outcome: 'unfinished', events: 300_000, bodies: 300_000 });
});

it('a run without Postgres fails, and the log says why', async () => {
  database.stack.neon.fault = () => ({ kind: 'refused' });
  await expect(run(NOW)).rejects.toThrow('Postgres could not be reached');
  database.stack.neon.fault = undefined;
  const reason = expect.stringMatching(/^Postgres could not be reached/);
  // Whatever fails, the other steps are tried.
  expect(lines).toEqual(['sweep', 'erase', 'prune'].map((step) => ({ step, outcome: 'failed', reason })));
});
