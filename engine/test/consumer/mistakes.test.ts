import { sql } from 'drizzle-orm';
import { beforeEach, expect, it } from 'vitest';
import { balanceOf, claimEvents, consume, empty, events, query, ticket } from './in-workerd.ts';
import { parkedAtOnce, triedAgain } from './mistakes.ts';

beforeEach(empty);

/** Works an event with a mistake between two events without. Its neighbours must be done, each once. */
async function workBetweenNeighbours(type: string) {
  const neighbour = (id: string) => ({ id, type: 'increments', data: { customer: 'neighbour' } });
  await claimEvents(neighbour('a'), { id: 'b', type, source: 'mistakes' }, neighbour('c'));
  const { outcome, acked, retried } = await consume([ticket('a'), ticket('b', 'mistakes'), ticket('c')]);
  expect(outcome).toBe('ok');
  const rows = await events();
  expect(rows.filter(({ id }) => id !== 'b').map(({ status }) => status)).toEqual(['done', 'done']);
  expect(await balanceOf('neighbour')).toBe('2');
  expect(await balanceOf('mistake')).toBeUndefined();
  return { event: rows.find(({ id }) => id === 'b'), acked, retried };
}

it.each(Object.entries(parkedAtOnce))(
  'a handler that %s has its event parked at once, and its neighbours are done',
  async (type, [error, , failure = 'changes']) => {
    const { event, acked } = await workBetweenNeighbours(type);
    expect(event).toMatchObject({ status: 'parked', attempts: 1, failure });
    expect(event?.last_error).toContain(error);
    expect(acked).toEqual(['0', '1', '2']);
  },
);

it.each(Object.entries(triedAgain))(
  'a handler that %s has its event tried again, and its neighbours are done',
  async (type, [error, , failure]) => {
    const { event, acked, retried } = await workBetweenNeighbours(type);
    expect(event).toMatchObject({ status: 'pending', attempts: 1, failure });
    expect(event?.last_error).toContain(error);
    expect([acked, retried.length]).toEqual([['0', '2'], 1]);
  },
);

it('a table and a column of the app that are called webhooks are not refused', async () => {
  await query(sql`create table public.webhooks (id text primary key, webhooks text, events text)`);
  await query(sql`grant all on public.webhooks to public`);
  try {
    await claimEvents({ id: 'a', type: 'uses a table of its own called webhooks', source: 'mistakes' });
    await consume([ticket('a', 'mistakes')]);
    expect(await events()).toEqual([expect.objectContaining({ status: 'done', last_error: null })]);
    expect(await query(sql`select webhooks from public.webhooks`)).toEqual([{ webhooks: 'updated twice' }]);
  } finally {
    await query(sql`drop table public.webhooks`);
  }
});

it('a setting that the changes of one event set does not apply to the changes of the next event, whether it sets some too or not', async () => {
  await claimEvents(
    { id: 'a', type: 'changes a setting', source: 'mistakes' },
    { id: 'b', type: 'uses a setting', source: 'mistakes' },
    { id: 'c', type: 'uses a setting and changes it', source: 'mistakes' },
  );
  // The setting is empty then, and the statement of `b` fails. That is also what it must do alone.
  await consume(['a', 'b', 'c'].map((id) => ticket(id, 'mistakes')));
  expect(await query(sql`select customer from fixture.balances order by 1`)).toEqual([
    { customer: 'before ' },
    { customer: 'mistake of its own' },
  ]);
  expect((await events()).map(({ status }) => status)).toEqual(['done', 'pending', 'done']);
});

it.each([
  ['returns a thousand changes', '1000 changes', { c: '7', thousand: '1' }],
  ['returns statements of every form', '9 changes', { c: '118', mistake: '111' }],
  ['reads in every form', '1 change', { c: '8' }],
])('a handler that %s has its changes committed together', async (type, summary, balances) => {
  await query(sql`insert into fixture.balances (customer, balance) values ('c', 7)`);
  await claimEvents({ id: 'a', type, source: 'mistakes' });
  await consume([ticket('a', 'mistakes')]);
  expect(await query(sql`select status, summary, last_error from webhooks.events`)).toEqual([
    { status: 'done', summary, last_error: null },
  ]);
  expect(await query(sql`select customer, balance from fixture.balances order by 1`)).toEqual(
    Object.entries(balances).map(([customer, balance]) => ({ customer, balance })),
  );
});
