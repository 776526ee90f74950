// Drills in virtual time: an outage of the other side parks nothing, and a backlog is gone as soon as its limit allows.
import { expect, it } from 'vitest';
import {
  down,
  HOUR,
  ids,
  lastCall,
  MINUTE,
  mostPerSecond,
  OutsideWorld,
  post,
  SECOND,
  START,
  seconds,
  useOutages,
} from './outside-world.ts';

const { database, statuses, pauses } = useOutages();

it('an outage of three hours with a thousand effects parks none: the other side is probed, and afterwards all are sent within seconds', async () => {
  const end = START + 3 * HOUR;
  const world = new OutsideWorld({
    database,
    start: START,
    effects: { mail: post() },
    consumers: 10,
    callMs: 100,
    answer: ({ at }) => (at < end ? down() : new Response()),
  });
  await world.addEffects('mail', ids(1000), (n) => START + n * 9 * SECOND);
  await world.workUntil(end);
  const during = world.calls.length;
  expect(await statuses()).toEqual({ pending: 1000 });
  expect(during).toBeLessThan(60);
  const probed = world.calls.slice(-10);
  expect(new Set(probed.map(({ key }) => key)).size).toBe(10);
  await world.workUntil(end + HOUR, { untilEmpty: true });
  console.log('three hours', { during, after: world.calls.length - during, seconds: seconds(end, lastCall(world)) });
  expect(await statuses()).toEqual({ sent: 1000 });
  expect(world.calls.length - during).toBe(1000);
  expect(lastCall(world)).toBeLessThan(end + 6 * MINUTE);
  expect(world.deliveries).toBe(1);
  expect(await pauses()).toEqual([{ kind: 'mail', host: 'mail.example.com', paused: false, backlog: false }]);
}, 300_000);

it('an outage parks none although consumers are killed all the time, and sends each effect', async () => {
  const end = START + 2 * HOUR;
  const world = new OutsideWorld({
    database,
    start: START,
    effects: { mail: post() },
    consumers: 4,
    callMs: 100,
    killed: 0.03,
    answer: ({ at }) => (at < end ? 'refused' : new Response()),
  });
  await world.addEffects('mail', ids(200), (n) => START + n * 30 * SECOND);
  await world.workUntil(end);
  const during = world.calls.length;
  expect(await statuses()).toEqual({ pending: 200 });
  await world.workUntil(end + 2 * HOUR);
  console.log('kills', {
    during,
    kills: world.kills,
    after: world.calls.length - during,
    deliveries: world.deliveries,
    seconds: seconds(end, lastCall(world)),
  });
  expect(await statuses()).toEqual({ sent: 200 });
  expect(world.kills).toBeGreaterThan(20);
  expect(during).toBeLessThan(60);
}, 300_000);

it('an outage of almost a day, with refused connections, refused keys and too many requests in turn, parks nothing, of many effects or of one', async () => {
  const end = START + 23 * HOUR;
  const kinds = ['refused' as const, down(401), down(429)];
  let calls = 0;
  const inTurn = () => {
    const answer = kinds[calls++ % kinds.length];
    return answer instanceof Response ? answer.clone() : 'refused';
  };
  const world = new OutsideWorld({
    database,
    start: START,
    effects: { mail: post(), sms: post('sms.example.com') },
    consumers: 2,
    answer: ({ at }) => (at < end ? inTurn() : new Response()),
  });
  await world.addEffects('mail', ids(30), (n) => START + n * MINUTE);
  await world.addEffects('sms', ids(1, 'alone'), () => START);
  await world.workUntil(end);
  expect(await statuses()).toEqual({ pending: 31 });
  console.log('a day', { during: world.calls.length });
  // Every five minutes, of both kinds.
  expect(world.calls.length).toBeLessThan(2 * 24 * 20);
  await world.workUntil(end + HOUR);
  expect(await statuses()).toEqual({ sent: 31 });
}, 300_000);

it('a limit of a hundred a second is kept over all consumers, and a backlog of 10,000 takes no longer than it must', async () => {
  const world = new OutsideWorld({
    database,
    start: START,
    effects: { mail: { ...post(), limit: { perSecond: 100 } } },
    consumers: 10,
    callMs: 20,
    answer: () => new Response(),
  });
  await world.addEffects('mail', ids(10_000), () => START);
  await world.workUntil(START + HOUR, { untilEmpty: true });
  console.log('limit', {
    seconds: seconds(START, lastCall(world)),
    most: mostPerSecond(world.calls),
    rounds: world.lines.length,
  });
  expect(await statuses()).toEqual({ sent: 10_000 });
  expect(lastCall(world)).toBeLessThan(START + 120 * SECOND);
  // A call begins a little after its turn, and how many do so together depends on the machine.
  expect(mostPerSecond(world.calls)).toBeLessThan(150);
}, 600_000);
