import { idempotencyKeyOf } from '../../../src/db/keys.ts';
import type { SourceName } from './app.ts';
import type { Sql } from './lanes.ts';
import type { ExpectedEvent, Scenario } from './scenarios.ts';
import type { World } from './world.ts';

interface Expectation extends ExpectedEvent {
  readonly source: SourceName;
}

/** Everything in Postgres that is not as it must be once nothing is left to do, one sentence each. */
export async function violationsOf(world: World, scenario: Scenario, sql: Sql): Promise<string[]> {
  const expected = scenario.sendings.flatMap(({ source, events }) => events.map((event) => ({ source, ...event })));
  expected.push(...scenario.old.map((event) => ({ source: 'stripe' as const, ...event })));
  const statuses = await statusesOf(sql);
  return [
    ...world.providers.unexpected,
    ...wrongStatuses(world, expected, statuses),
    ...(await wrongBalances(expected, statuses, sql)),
    ...(await wrongEffects(world, expected, statuses, sql)),
    ...(await wrongPruning(expected, statuses, sql)),
    ...(await wrongState(statuses, sql)),
    ...(await wrongOrder(sql)),
    ...(await wrongAlerts(sql)),
  ];
}

type Statuses = ReadonlyMap<string, { status: string; completions: number }>;

const mayBePruned = ({ was }: ExpectedEvent) => was === 'done' || was === 'pending';

const keyOf = ({ source, id }: { readonly source: string; readonly id: string }) => JSON.stringify([source, id]);

async function statusesOf(sql: Sql): Promise<Statuses> {
  const rows = await sql<{ source: string; id: string; status: string; completions: number }>(
    'select source, event_id as id, status, completions from webhooks.events',
  );
  return new Map(rows.map(({ status, completions, ...key }) => [keyOf(key), { status, completions }]));
}

function wrongStatuses(world: World, expected: readonly Expectation[], statuses: Statuses): string[] {
  const wrong: string[] = [];
  for (const event of expected) {
    const { status = 'gone', completions = 0 } = statuses.get(keyOf(event)) ?? {};
    const allowed = event.expected === 'finished' ? ['done', 'parked'] : [event.expected];
    const isPruned = status === 'gone' && mayBePruned(event);
    if (!allowed.includes(status) && !isPruned) wrong.push(`${keyOf(event)} is ${status} and not ${event.expected}`);
    if (status === 'done' && completions !== 1) wrong.push(`${keyOf(event)} has ${completions} completions`);
    if (!event.was && !world.providers.held.has(keyOf(event))) wrong.push(`${keyOf(event)} was never answered 200`);
  }
  const known = new Set(expected.map(keyOf));
  for (const key of statuses.keys()) if (!known.has(key)) wrong.push(`${key} was not sent`);
  const pushes = expected.filter(({ source }) => source === 'github');
  const worked = pushes.filter((event) => statuses.get(keyOf(event))?.status === 'done');
  if (pushes.length > 0 && worked.length !== 1) wrong.push(`${worked.length} of the pushes with one body are done`);
  return wrong;
}

/** The amounts of the events that are done, each once. An old event that was done before it was pruned counts, too. */
async function wrongBalances(expected: readonly Expectation[], statuses: Statuses, sql: Sql): Promise<string[]> {
  const sums = new Map<string, number>();
  for (const event of expected) {
    const { status } = statuses.get(keyOf(event)) ?? { status: 'gone' };
    const isDone = status === 'done' || (status === 'gone' && event.was === 'pending');
    if (!isDone || !event.charge) continue;
    const { customer, amount } = event.charge;
    sums.set(customer, (sums.get(customer) ?? 0) + amount);
  }
  const balances = await sql<{ customer: string; balance: string }>('select customer, balance from fixture.balances');
  const found = new Map(balances.map(({ customer, balance }) => [customer, Number(balance)]));
  return [...new Set([...sums.keys(), ...found.keys()])]
    .filter((customer) => sums.get(customer) !== found.get(customer))
    .map((customer) => `the balance of ${customer} is ${found.get(customer)} and not ${sums.get(customer)}`);
}

/** Every effect of a done event was called with its key and one payload, and ended as the other side wanted. */
async function wrongEffects(
  world: World,
  expected: readonly Expectation[],
  statuses: Statuses,
  sql: Sql,
): Promise<string[]> {
  const wrong: string[] = [];
  const rows = await sql<{ source: string; id: string; name: string; status: string }>(
    'select source, event_id as id, name, status from webhooks.effects',
  );
  const found = new Map(rows.map((row) => [`${keyOf(row)} ${row.name}`, row.status]));
  const keys = new Set<string>();
  for (const event of expected) {
    if (statuses.get(keyOf(event))?.status !== 'done') continue;
    for (const { name, fails } of event.charge?.effects ?? []) {
      const key = await idempotencyKeyOf({ source: event.source, eventId: event.id, name });
      keys.add(key);
      const status = found.get(`${keyOf(event)} ${name}`) ?? 'missing';
      const call = world.outside.calls.get(key);
      const accepted = call?.accepted ?? false;
      if (found.delete(`${keyOf(event)} ${name}`) && status === 'sent' && !accepted)
        wrong.push(`effect ${name} of ${keyOf(event)} is sent, but the other side has not accepted it`);
      // A dead letter may park an effect, or the other side by its answers.
      const allowed = fails === 'always' ? ['parked'] : event.expected === 'finished' ? ['sent', 'parked'] : ['sent'];
      if (!allowed.includes(status)) wrong.push(`effect ${name} of ${keyOf(event)} is ${status}`);
    }
  }
  for (const left of found.keys()) wrong.push(`effect ${left} belongs to no event that is done`);
  for (const [key, { payloads }] of world.outside.calls) {
    if (payloads.size > 1) wrong.push(`the key ${key} was sent with ${payloads.size} payloads`);
    if (!keys.has(key)) wrong.push(`a call was made with the key ${key}, which belongs to no effect`);
  }
  return wrong;
}

async function wrongPruning(expected: readonly Expectation[], statuses: Statuses, sql: Sql): Promise<string[]> {
  const bodies = await sql<{ id: string }>('select event_id as id from webhooks.bodies');
  const kept = new Set(bodies.map(({ id }) => id));
  return expected.flatMap((event) => {
    if (!event.was) return [];
    const isThere = statuses.has(keyOf(event));
    if (mayBePruned(event)) return isThere ? [`${keyOf(event)} was not pruned`] : [];
    return isThere && kept.has(event.id) ? [] : [`${keyOf(event)} or its body was pruned`];
  });
}

async function wrongState(statuses: Statuses, sql: Sql): Promise<string[]> {
  if (!statuses.has(keyOf({ source: 'stripe', id: 'evt_newer' }))) return [];
  const [row] = await sql<{ state: string }>('select state from fixture.states');
  return row?.state === 'evt_newer' ? [] : [`the state is that of ${row?.state}`];
}

/**
 * Of each order key, every event that has appended to its list is there once, and each is late exactly if a later one was
 * worked before it.
 */
async function wrongOrder(sql: Sql): Promise<string[]> {
  const lines = await sql<{ key: string; ids: string[]; list: string | null }>(
    `select order_key as key, array_agg(event_id order by received_at, order_place, event_id) as ids,
       (select state from fixture.states where thing = order_key) as list
     from webhooks.events
     where order_key is not null and type in ('appends', 'adds') and status = 'done' group by order_key`,
  );
  return lines.flatMap(({ key, ids, list }) => {
    const found = (list ?? '').split(',').map((entry) => entry.split(' '));
    const places = found.map(([id = '']) => ids.indexOf(id));
    const isComplete = places.toSorted((a, b) => a - b).join() === [...ids.keys()].join();
    const isRight = found.every(
      ([, late], n) => (late === 'late') === places.slice(0, n).some((one) => one > (places[n] ?? 0)),
    );
    return isComplete && isRight ? [] : [`the list of ${key} is ${list}, and the events came as ${ids}`];
  });
}

/** The operator was alerted about everything that is parked. */
async function wrongAlerts(sql: Sql): Promise<string[]> {
  const rows = await sql<{ source: string }>(
    `select distinct source from webhooks.events parked where status = 'parked' and not exists (
       select from webhooks.alerts alert where alert.source = parked.source and alert.sent_at is not null)`,
  );
  return rows.map(({ source }) => `nobody was alerted about the parked events of ${source}`);
}
