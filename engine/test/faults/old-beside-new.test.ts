import { gunzipSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { charge, expectChargedOnce } from './charges.ts';
import { PREVIOUS, useCloud, type Workerd } from './cloud.ts';
import { isLong, report, seed } from './form.ts';
import { randomFrom } from './random.ts';

const EVENTS = isLong ? 3000 : 60;
const SENDERS = 20;

const cloud = useCloud();
const random = randomFrom(seed);
let today: Workerd;
let previous: Workerd;

beforeAll(async () => {
  today = await cloud.start();
  previous = await cloud.start(PREVIOUS);
});

/** Which of the two gets the next delivery or batch. */
const onlyToday = () => today;
const onlyPrevious = () => previous;
const either = () => (random() < 0.5 ? today : previous);

it.each([
  [
    "the previous receiver's messages are worked by today's consumer, and its effects sent by the previous one",
    { receiver: onlyPrevious, worksEvents: onlyToday, sendsEffects: onlyPrevious },
  ],
  [
    "today's messages are worked by the previous consumer, as after a rollback, and its effects sent by today's",
    { receiver: onlyToday, worksEvents: onlyPrevious, sendsEffects: onlyToday },
  ],
  [
    'both receivers and both consumers work side by side on the same queues, as during a deploy',
    { receiver: either, worksEvents: either, sendsEffects: either },
  ],
])('%s', async (title, { receiver, worksEvents, sendsEffects }) => {
  const { queues, stack, sql } = cloud;
  await sql('truncate webhooks.events, fixture.balances cascade');
  stack.outside.requests.length = 0;

  // Nothing is consumed yet, and a part of the claims fails: so tickets and forwarded deliveries wait on the queue.
  queues.consume = undefined;
  stack.neon.fault = () => (random() < 0.5 ? { kind: 'server error' } : undefined);
  // Each event twice, as providers do.
  const deliveries = Array.from({ length: EVENTS * 2 }, (_, n) => n % EVENTS).values();
  const sender = async () => {
    for (const n of deliveries) expect((await receiver().deliver('stripe', charge(n))).status).toBe(200);
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
  stack.neon.fault = undefined;

  const waiting = queues.waitingOn('deadline-events');
  const forwarded = waiting.flatMap(({ bytes }) => (bytes ? [versionOf(bytes)] : []));
  const tickets = waiting.flatMap(({ json }) => (json ? [Reflect.get(json, 'version')] : []));
  expect([new Set(forwarded), new Set(tickets)]).toEqual([new Set([1]), new Set([1])]);

  queues.loseTickets('deadline-events');
  await worksEvents().tick(new Date(Date.now() + 3_600_000));
  queues.consume = (queue, messages) =>
    (queue === 'deadline-events' ? worksEvents : sendsEffects)().consume(queue, messages);
  await expectChargedOnce(EVENTS, { sql, queues, outside: stack.outside });
  report('old beside new', {
    case: title,
    events: EVENTS,
    tickets: tickets.length,
    forwarded: forwarded.length,
    lost: 0,
    doubled: 0,
  });
});

function versionOf(forwarded: string): unknown {
  return JSON.parse(gunzipSync(Buffer.from(forwarded, 'base64')).toString()).version;
}
