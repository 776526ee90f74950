import { Webhook } from 'standardwebhooks';
import * as v from 'valibot';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tick } from '../../src/consumer/consumer.ts';
import { runAction } from '../../src/db/actions.ts';
import { claim } from '../../src/db/claim.ts';
import { parkEffects } from '../../src/db/effects.ts';
import { parkEvents, recordFailures } from '../../src/db/events.ts';
import type { ActionName, Failure } from '../../src/db/schema.ts';
import { EventPage } from '../../src/ops/api.ts';
import { useDatabase } from '../database.ts';
import { FakeQueue } from '../fake-queue.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import { startOpsWorker, TOKEN } from '../ops-worker/start.ts';
import { useAlertEndpoint } from './alert-endpoint.ts';

const database = useDatabase();
const { sql } = database;
const endpoint = useAlertEndpoint();

const NOW = new Date('2026-03-02T12:00:00Z');
const later = ({ minutes = 0, hours = 0, days = 0 }) =>
  new Date(NOW.getTime() + (minutes + hours * 60 + days * 1440) * 60_000);
/** Stands for personal data, in the error of every event that is parked here. */
const CANARY = 'canary-7f3a';
const SECRET = `whsec_${btoa('a secret of more than 24 bytes')}`;

/** Sources whose providers are asked. Another one was, and is no more. */
const RECONCILE = { sources: ['stripe', 'github', 'shop'], run: async () => undefined };

let lines: Record<string, unknown>[];
let queries: number;

beforeEach(async () => {
  await sql(
    'delete from webhooks.events; delete from webhooks.alerts; delete from webhooks.hours; delete from webhooks.reconciles; delete from webhooks.pauses',
  );
  lines = [];
  queries = 0;
  database.stack.neon.fault = () => {
    queries++;
    return undefined;
  };
});

afterEach(() => {
  database.stack.neon.fault = undefined;
  expect(JSON.stringify([lines, endpoint.posts])).not.toContain(CANARY);
});

/** Runs the cron, and returns the text of what it posted. */
async function run(now: Date, settings: Record<string, unknown> = { ALERT_WEBHOOK_URL: endpoint.url }) {
  const queue = new FakeQueue();
  const { consumer } = database.stack.workerUrls;
  const bindings = { DATABASE_URL: consumer, EVENTS: queue, EFFECTS: queue, EVENTS_QUEUE: 'acme-hooks-staging-events' };
  const env = { ...bindings, DEDUPE_DAYS: 30, BODY_DAYS: 7, ...settings };
  const before = endpoint.posts.length;
  await tick(env as unknown as ConsumerEnv, now, (line) => lines.push(line), RECONCILE);
  return endpoint.posts.slice(before).map(({ body }) => JSON.parse(body).text.replace(/^acme-hooks-staging\n/, ''));
}

const claimOne = (eventId: string, { source = 'stripe', at = NOW } = {}) =>
  claim(database.receiver, claimRequest([eventId], { source, receivedAt: at }));

async function parkOne(eventId: string, failure: Failure = 'handler', source = 'stripe'): Promise<void> {
  await claimOne(eventId, { source });
  const failed = { source, eventId, failure, error: `TypeError: ${CANARY}`, failedPaths: [CANARY] };
  await recordFailures(database.consumer, [{ ...failed, parked: true, notBefore: NOW }], NOW);
}

/** Its event was received long before it was done. */
async function addEffect(eventId: string): Promise<void> {
  await claimOne(eventId, { at: later({ hours: -5 }) });
  await sql(`update webhooks.events set status = 'done', finished_at = $2 where event_id = $1`, [eventId, NOW]);
  await sql(
    `insert into webhooks.effects (source, event_id, name, kind, payload, due_at)
     values ('stripe', $1, 'receipt', 'receipt', '{}', $2)`,
    [eventId, NOW],
  );
}

/** The lines about alerts. */
const logged = () => lines.filter(({ step }) => step === 'alert');

/** What an operator does about everything of one source. */
const act = (action: ActionName) =>
  runAction(database.ops, {
    action,
    filter: { source: 'stripe' },
    reason: 'test',
    sendEffectsAgain: false,
    who: 'test',
    at: NOW,
  });

describe('an alert about parked events', () => {
  const HANDLER = 'handler (the code threw an error)';
  const PERMANENT = 'permanent (the code threw a PermanentError)';
  const PARKED = { condition: 'parked', source: 'stripe', failure: 'handler' };

  it('is sent once, and once more when nothing is parked any more', async () => {
    await parkOne('evt_1');
    await parkOne('evt_2');
    expect(await run(NOW)).toEqual([`ALERT stripe: 2 events are parked: ${HANDLER}`]);
    await parkOne('evt_3');
    expect(await run(later({ minutes: 15 }))).toEqual([]);
    await act('retry');
    expect(await run(later({ minutes: 30 }))).toEqual(['OK    stripe: nothing is parked any more because of handler']);
    expect(await run(later({ minutes: 45 }))).toEqual([]);
    expect(logged()).toEqual([
      { step: 'alert', outcome: 'sent', reason: undefined, state: 'begun', ...PARKED, events: 2, effects: 0 },
      { step: 'alert', outcome: 'sent', reason: undefined, state: 'over', ...PARKED, events: 0, effects: 0 },
    ]);
  });

  it('is sent for each time, source and failure, with an id of its own by which an endpoint tells a repeated one', async () => {
    await parkOne('evt_1');
    await run(NOW);
    await act('retry');
    await run(later({ minutes: 15 }));
    await parkOne('evt_1');
    await run(later({ minutes: 30 }));
    await parkOne('evt_2', 'permanent');
    expect(await run(later({ minutes: 45 }))).toEqual([`ALERT stripe: 1 event is parked: ${PERMANENT}`]);
    await parkOne('evt_2', 'permanent', 'github');
    await parkOne('evt_1', 'handler', 'meta');
    expect(await run(later({ minutes: 60 }))).toEqual([
      `ALERT github: 1 event is parked: ${PERMANENT}\nALERT meta: 1 event is parked: ${HANDLER}`,
    ]);
    const ids = endpoint.posts.map(({ headers }) => headers['webhook-id']);
    expect([ids.length, new Set(ids).size]).toEqual([5, 5]);
    await sql(`update webhooks.events set status = 'done' where (source, failure) = ('stripe', 'handler')`);
    expect(await run(later({ minutes: 75 }))).toEqual(['OK    stripe: nothing is parked any more because of handler']);
    expect(await run(later({ minutes: 90 }))).toEqual([]);
  });

  it('says how many events wait behind one of their order key, and these are not pending for too long', async () => {
    const ordered = (id: string, minutes: number) =>
      claim(
        database.receiver,
        claimRequest([newEvent(id, { orderKey: 'k', orderPlace: 0 })], {
          source: 'stripe',
          receivedAt: later({ minutes }),
        }),
      );
    for (const [n, id] of ['evt_1', 'evt_2', 'evt_3'].entries()) await ordered(id, n);
    await parkEvents(
      database.consumer,
      [{ source: 'stripe', eventId: 'evt_1' }],
      { failure: 'handler', error: 'no' },
      NOW,
    );
    const text = `ALERT stripe: 1 event is parked: ${HANDLER}. 2 events wait behind`;
    expect([await run(later({ hours: 5 })), await run(later({ hours: 6 }))]).toEqual([[text], []]);
    const result = await act('discard');
    expect(result).toMatchObject({ lines: [{ source: 'stripe', orderKey: 'k' }] });
    await run(later({ hours: 7 }));
    // The first of them is nobody's follower now.
    expect(await run(later({ hours: 8 }))).toEqual([expect.stringContaining('1 event is pending')]);
  });

  it('counts events and effects, and says of both why they are parked', async () => {
    await claimOne('evt_1');
    for (const id of ['evt_2', 'evt_3']) await addEffect(id);
    for (const id of ['evt_4', 'evt_5']) {
      const twin = newEvent(id, { fingerprint: 'same' });
      await claim(database.receiver, claimRequest([twin], { source: 'meta', receivedAt: NOW }));
    }
    const poison = { failure: 'poison', error: 'the queue gave up' } as const;
    await parkEvents(database.consumer, [{ source: 'stripe', eventId: 'evt_1' }], poison, NOW);
    const effects = ['evt_2', 'evt_3'].map((eventId) => ({ source: 'stripe', eventId, name: 'receipt' }));
    await parkEffects(database.consumer, effects, poison);
    expect(await run(NOW)).toEqual([
      'ALERT meta: 1 event is parked: replay (suspected replays)\n' +
        'ALERT stripe: 1 event and 2 effects are parked: poison (the queue gave up on the tickets)',
    ]);
    await act('discard');
    expect(await run(later({ minutes: 15 }))).toEqual(['OK    stripe: nothing is parked any more because of poison']);
  });
});

describe('the links of an alert', () => {
  it('lead to the lists of exactly what it counts, in the console and in the API', async () => {
    await parkOne('evt_1');
    await parkOne('evt_2', 'permanent');
    await parkOne('evt_3', 'handler', 'github');
    await claimOne('evt_4');
    for (const id of ['evt_5', 'evt_6']) await addEffect(id);
    const effect = { source: 'stripe', eventId: 'evt_5', name: 'receipt' };
    await parkEffects(database.consumer, [effect], { failure: 'handler', error: 'Error: away' });
    const settings = { ALERT_WEBHOOK_URL: endpoint.url, OPS_URL: 'https://ops.example.com' };
    await run(later({ minutes: 61 }), settings);
    await run(later({ minutes: 75 }), settings);
    const ops = startOpsWorker({ env: { OPS_TOKEN: TOKEN, DATABASE_URL: database.stack.workerUrls.ops } });
    const alerts = endpoint.posts.flatMap(({ body }) => JSON.parse(body).data.alerts);
    const listed = await Promise.all(
      alerts.map(async ({ links, condition, source, failure }) => {
        const lists = links.map(async (link: string) => {
          expect((await ops.get(link)).status).toBe(200);
          const list = v.parse(EventPage, await (await ops.get(link.replace('/ops/events', '/ops/api/events'))).json());
          return list.events.map(({ event_id }) => event_id);
        });
        return [condition, source, failure, ...(await Promise.all(lists))];
      }),
    );
    expect(listed).toEqual([
      ['parked', 'github', 'handler', ['evt_3']],
      ['parked', 'stripe', 'handler', ['evt_1'], ['evt_5']],
      ['parked', 'stripe', 'permanent', ['evt_2']],
      ['pending', 'stripe', null, ['evt_4'], ['evt_6']],
    ]);
    const { text } = JSON.parse(endpoint.posts[1]?.body ?? '');
    expect(text).toContain(' https://ops.example.com/ops/events?source=stripe&effect_status=pending\n');
  });
});

describe('an alert about pending events', () => {
  it('is sent at the second tick that finds one older than an hour, and when none is that old any more', async () => {
    await claimOne('evt_1');
    await addEffect('evt_2');
    expect(await run(later({ minutes: 60 }))).toEqual([]);
    expect(await run(later({ minutes: 61 }))).toEqual([]);
    expect(await run(later({ minutes: 75 }))).toEqual([
      'ALERT stripe: 1 event and 1 effect are pending for more than 60 minutes, the oldest since 2026-03-02 12:00 UTC',
    ]);
    expect(await run(later({ minutes: 90 }))).toEqual([]);
    await sql(`update webhooks.events set status = 'done'`);
    await sql(`update webhooks.effects set status = 'sent'`);
    expect(await run(later({ minutes: 105 }))).toEqual([
      'OK    stripe: nothing has been pending for more than 60 minutes',
    ]);
  });

  it('is not sent about old events that were retried and done before the next tick', async () => {
    await claimOne('evt_1');
    await run(later({ hours: 5 }));
    await sql(`update webhooks.events set status = 'done'`);
    expect(await run(later({ hours: 5, minutes: 15 }))).toEqual([]);
    expect(await sql('select * from webhooks.alerts')).toEqual([]);
  });

  it('has the limit that ALERT_PENDING_MINUTES sets, and names the oldest of each source', async () => {
    const settings = { ALERT_WEBHOOK_URL: endpoint.url, ALERT_PENDING_MINUTES: 5 };
    await claimOne('evt_1', { source: 'github', at: later({ minutes: 2 }) });
    for (const minutes of [3, 1, 4]) await claimOne(`evt_${minutes}`, { at: later({ minutes }) });
    await run(later({ minutes: 10 }), settings);
    const limit = 'pending for more than 5 minutes, the oldest since 2026-03-02';
    expect(await run(later({ minutes: 11 }), settings)).toEqual([
      `ALERT github: 1 event is ${limit} 12:02 UTC\nALERT stripe: 3 events are ${limit} 12:01 UTC`,
    ]);
    await sql(`update webhooks.events set status = 'done' where source = 'github'`);
    expect(await run(later({ minutes: 12 }), settings)).toEqual([
      'OK    github: nothing has been pending for more than 5 minutes',
    ]);
  });
});

describe('an alert about a silent source', () => {
  const WEEK = 7 * 24;
  /** From Friday 17:00 to Monday 12:00. */
  const WEEKEND_HOURS = 67;

  /** As if the cron had seen an event of the source in each of these hours after NOW. */
  const heard = (source: string, hours: readonly number[]) =>
    sql('insert into webhooks.hours (source, hour) select $1, unnest($2::timestamptz[])', [
      source,
      hours.map((hour) => later({ hours: hour })),
    ]);
  const range = (count: number) => Array.from({ length: count }, (_, n) => n);
  const done = () => sql(`update webhooks.events set status = 'done'`);

  it('is sent after six hours if it used to send every hour, once, and again when it sends', async () => {
    await heard('stripe', range(WEEK + 1));
    expect(await run(later({ hours: WEEK + 6 }))).toEqual([]);
    expect(await run(later({ hours: WEEK + 6, minutes: 1 }))).toEqual([
      'ALERT stripe: no event since 2026-03-09 12:00 UTC, which is unusually long for this source',
    ]);
    expect(await run(later({ hours: WEEK + 20 }))).toEqual([]);
    await claimOne('evt_1', { at: later({ hours: WEEK + 20, minutes: 5 }) });
    expect(await run(later({ hours: WEEK + 20, minutes: 15 }))).toEqual(['OK    stripe: events arrive again']);
  });

  it('is sent after three times the longest gap of the source itself, such as a weekend', async () => {
    // NOW is noon on a Monday.
    const office = range(2 * WEEK).filter((hour) => hour % 24 < 6 && Math.floor(hour / 24) % 7 < 5);
    const last = Math.max(...office);
    await heard('office', office);
    await heard('always', range(2 * WEEK + 3 * WEEKEND_HOURS));
    expect(await run(later({ hours: last + 3 * WEEKEND_HOURS }))).toEqual([]);
    const [text, ...others] = await run(later({ hours: last + 3 * WEEKEND_HOURS, minutes: 1 }));
    expect([text, others]).toEqual([expect.stringMatching(/^ALERT office: no event since 2026-03-13 17:00 UTC/), []]);
  });

  it.each([
    [WEEK - 1, 0],
    [WEEK, 1],
  ])('needs a week of its events: %i hours after the first, the number of alerts is %i', async (last, alerts) => {
    await heard('stripe', [0, last - 1, last]);
    expect(await run(later({ days: 60 }))).toHaveLength(alerts);
    // Silent for longer than its history is kept, it stays the same alert.
    expect(await run(later({ days: 90 }))).toEqual([]);
  });

  it('knows the hours of events, at first those of one day, and forgets them two weeks before the last one of the source', async () => {
    await heard('stripe', [-312, -311]);
    await heard('github', [-311, -310]);
    for (const hour of [0, 1, 25]) await claimOne(`evt_${hour}`, { at: later({ hours: hour, minutes: 30 }) });
    await claimOne('evt_1', { source: 'github', at: later({ hours: 26 }) });
    await done();
    await run(later({ hours: 25, minutes: 45 }));
    await run(later({ hours: 26, minutes: 45 }));
    expect(await sql('select source, hour from webhooks.hours order by 1, 2')).toEqual([
      { source: 'github', hour: later({ hours: -310 }) },
      { source: 'github', hour: later({ hours: 26 }) },
      { source: 'stripe', hour: later({ hours: -311 }) },
      { source: 'stripe', hour: later({ hours: 25 }) },
    ]);
  });
});

describe('an alert endpoint', () => {
  it('gets nothing, and Postgres no further query, if there is nothing new', async () => {
    await run(NOW, {});
    const withoutAlerts = queries;
    await run(NOW);
    expect(queries - withoutAlerts).toBe(withoutAlerts + 1);
    expect(endpoint.posts).toEqual([]);
    expect(lines.map(({ step }) => step)).toEqual(['sweep', 'prune', 'sweep', 'prune']);
  });

  it.each([
    ['refuses', () => ({ status: 500, headers: {} }), 'the alert endpoint answered 500'],
    ['redirects', () => ({ status: 302, headers: { location: '/elsewhere' } }), 'the alert endpoint answered 302'],
  ])('that %s gets the same alert with the same id at the next tick', async (_, answer, reason) => {
    await parkOne('evt_1');
    endpoint.answer = answer();
    await run(NOW);
    expect(lines).toEqual([
      expect.objectContaining({ step: 'sweep', outcome: 'done' }),
      expect.objectContaining({ step: 'alert', outcome: 'not_sent', reason, state: 'begun' }),
      expect.objectContaining({ step: 'prune', outcome: 'done' }),
    ]);
    endpoint.answer = { status: 200, headers: {} };
    expect(await run(later({ minutes: 15 }))).toHaveLength(1);
    expect(logged().at(-1)).toMatchObject({ outcome: 'sent', state: 'begun' });
    expect(endpoint.posts).toHaveLength(2);
    expect(new Set(endpoint.posts.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(await run(later({ minutes: 30 }))).toEqual([]);
  });

  it('that was away when an alert was over is told so at the next tick, once, with the same id', async () => {
    await parkOne('evt_1');
    await run(NOW);
    await act('retry');
    endpoint.answer = { status: 503, headers: {} };
    await run(later({ minutes: 15 }));
    expect(logged().at(-1)).toMatchObject({ outcome: 'not_sent', state: 'over' });
    endpoint.answer = { status: 204, headers: {} };
    expect(await run(later({ minutes: 30 }))).toEqual(['OK    stripe: nothing is parked any more because of handler']);
    const [, refused, accepted] = endpoint.posts.map(({ headers }) => headers['webhook-id']);
    expect(accepted).toBe(refused);
    expect(await run(later({ minutes: 45 }))).toEqual([]);
  });

  it('that was away while an alert was over and began again gets no false end of it', async () => {
    await parkOne('evt_1');
    await run(NOW);
    await act('retry');
    endpoint.answer = { status: 503, headers: {} };
    await run(later({ minutes: 15 }));
    await parkOne('evt_1');
    endpoint.answer = { status: 204, headers: {} };
    expect(await run(later({ minutes: 30 }))).toEqual([]);
    await act('retry');
    expect(await run(later({ minutes: 45 }))).toEqual(['OK    stripe: nothing is parked any more because of handler']);
  });

  it.each([
    ['http://127.0.0.1:1/canary-in-the-url', 'the alert endpoint could not be reached (TypeError)'],
    ['canary-in-the-url', 'ALERT_WEBHOOK_URL is not a URL'],
  ])('%s is not reached, and its URL is not logged', async (url, reason) => {
    await parkOne('evt_1');
    await run(NOW, { ALERT_WEBHOOK_URL: url });
    expect(logged()).toMatchObject([{ outcome: 'not_sent', reason }]);
    expect(JSON.stringify(lines)).not.toContain('canary');
  });

  it('is alerted although pruning uses up the requests that the run may make', async () => {
    await parkOne('evt_1');
    let used = false;
    database.stack.neon.fault = ({ query = '' }) => {
      used ||= query.includes('pruned_events');
      return used ? { kind: 'refused' } : undefined;
    };
    await expect(run(NOW)).rejects.toThrow('Postgres could not be reached');
    expect(endpoint.posts).toHaveLength(1);
    database.stack.neon.fault = undefined;
    // It was also recorded as sent.
    expect(await run(later({ minutes: 15 }))).toEqual([]);
  });

  it('can verify the alert with the package of Standard Webhooks', async () => {
    await parkOne('evt_1');
    const now = new Date();
    await run(now, { ALERT_WEBHOOK_URL: endpoint.url, ALERT_WEBHOOK_SECRET: SECRET });
    const [post] = endpoint.posts;
    expect(new Webhook(SECRET).verify(post?.body ?? '', post?.headers ?? {})).toMatchObject({
      type: 'claimcheck.alert',
      timestamp: now.toISOString(),
      data: {
        console: null,
        alerts: [
          {
            condition: 'parked',
            state: 'begun',
            source: 'stripe',
            failure: 'handler',
            events: 1,
            effects: 0,
            since: now.toISOString(),
          },
        ],
      },
    });
  });

  it('gets no alert that it would have to refuse, because the secret is malformed', async () => {
    await parkOne('evt_1');
    await run(NOW, { ALERT_WEBHOOK_URL: endpoint.url, ALERT_WEBHOOK_SECRET: 'not base64!' });
    expect(endpoint.posts).toEqual([]);
    expect(logged()).toMatchObject([{ outcome: 'not_sent', reason: expect.stringContaining('ALERT_WEBHOOK_SECRET') }]);
  });

  it('gets a text for Slack and for Discord, with a link to the console, that mentions nobody and is short enough', async () => {
    for (let n = 0; n < 40; n++) await parkOne('evt_1', 'changes', `a-source-with-quite-a-long-name-${n}`);
    await run(NOW, { ALERT_WEBHOOK_URL: endpoint.url, OPS_URL: 'https://ops.example.com//' });
    const { text, content, allowed_mentions, data } = JSON.parse(endpoint.posts[0]?.body ?? '');
    expect(text).toMatch(/\n… and \d\d more\nhttps:\/\/ops\.example\.com\/ops$/);
    expect(text.length).toBeLessThan(2000);
    expect(text.split('\nALERT ').length - 1 + Number(/and (\d+) more/.exec(text)?.[1])).toBe(40);
    expect(content).toBe(text);
    expect(allowed_mentions).toEqual({ parse: [] });
    expect(data.alerts).toHaveLength(40);
  });
});

it('what asking a provider has shown is an alert: what never arrived, a key of another account, and a day without an answer', async () => {
  await sql(
    `insert into webhooks.reconciles (source, since, found, found_since, found_at, problem, problem_since) values
       ('stripe', $1, 3, $1::timestamptz - interval '2 days', $1, null, null),
       ('github', $1, 0, null, null, 'failed', $1), ('shop', $1, 0, null, null, 'unconfirmed', $1),
       ('removed', $1, 7, $1, $1, 'unconfirmed', $1)`,
    [NOW],
  );
  expect(
    await run(later({ minutes: 15 }), { ALERT_WEBHOOK_URL: endpoint.url, OPS_URL: 'https://ops.example.com' }),
  ).toEqual([
    [
      "ALERT shop: of what the provider's API lists, nothing is known here. Is it the key of another account? If it is right: npm run ops -- reconcile shop --accept https://ops.example.com/ops",
      'ALERT stripe: 3 events never arrived, the oldest sent 2026-02-28 12:00 UTC: found by asking the provider https://ops.example.com/ops/events?source=stripe',
      'https://ops.example.com/ops',
    ].join('\n'),
  ]);
  await sql(`update webhooks.reconciles set problem = null where source = 'shop'`);
  expect(await run(later({ hours: 25 }))).toEqual([
    [
      'ALERT github: the provider could not be asked since 2026-03-02 12:00 UTC what it has sent. npm run ops -- reconcile github says why',
      'OK    shop: the provider is asked again what it has sent',
      'OK    stripe: no further event has been missing for a day',
    ].join('\n'),
  ]);
  await sql(`update webhooks.reconciles set problem = null`);
  expect(await run(later({ hours: 26 }))).toEqual(['OK    github: the provider is asked again what it has sent']);
});

it('a pause is an alert after five minutes, with what waits, and effects that wait for it are not alerted about again', async () => {
  for (const id of ['a', 'b']) await claimOne(id);
  await sql(
    `insert into webhooks.effects (source, event_id, name, kind, payload, due_at, host)
     select source, event_id, 'post', 'slack', '{}', $1, 'hooks.slack.com' from webhooks.events`,
    [NOW],
  );
  await sql(`update webhooks.events set status = 'done', finished_at = $1`, [later({ hours: -3 })]);
  await sql(
    `insert into webhooks.pauses (kind, host, paused_at, paused_by, last_error, probe_at, probe_seconds, changed_at)
     values ('slack', 'hooks.slack.com', $1, null, 'hooks.slack.com answered 503', $2, 300, $1), ('mail', '', $1, 'ann', null, null, 0, $1)`,
    [NOW, later({ minutes: 6 })],
  );
  expect(await run(later({ minutes: 4 }))).toEqual([]);
  expect(await run(new Date(later({ minutes: 6 }).getTime() - 40_000))).toEqual([
    [
      'ALERT mail is paused since 2026-03-02 12:00 UTC: by an operator; 0 effects wait',
      'ALERT slack is paused since 2026-03-02 12:00 UTC: hooks.slack.com answered 503; 2 effects wait; next try in 40 s',
    ].join('\n'),
  ]);
  await sql('update webhooks.pauses set paused_at = null');
  const [over] = await run(later({ minutes: 20 }));
  expect(over).toContain('OK    mail is not paused any more\nOK    slack is not paused any more');
});
