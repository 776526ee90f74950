import { randomUUID } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import { parseJson } from '../../../src/shared/json.ts';
import { useRunning } from '../running.ts';
import { signers } from '../signatures.ts';

const running = useRunning();
const { post, secret, sign, sql, quiet } = running;

const LIMIT = 1024 * 1024;

beforeEach(() => sql('truncate webhooks.events, fixture.balances cascade'));

/** The exact text of a charge, with an id of its own. */
function charge(extra: string, amount = '4200'): string {
  const object = `{"id":"in_1","customer":"cus_1","amount":${amount},"currency":"eur"}`;
  return `{"id":"evt_${randomUUID()}","type":"charge.succeeded","created":1770000000,${extra}"data":{"object":${object}}}`;
}

const cases: Record<string, string> = {
  'an escaped NUL': charge('"note":"a\\u0000b",'),
  'escaped halves of characters': charge('"note":"\\ud800 \\udc00",'),
  emoji: charge('"note":"👩‍🚒 ✅",'),
  'a number beyond 2^53': charge('"big":12345678901234567890,'),
  'duplicate keys': charge('"type":"first",')
    .replace('"type":"charge.succeeded",', '')
    .replace('"data"', '"type":"charge.succeeded","data"'),
  'white space of all kinds': ` \n\t${charge('')} \r\n`,
  'exactly as many bytes as the limit allows': charge(`"pad":"${'x'.repeat(LIMIT - charge('"pad":"",').length)}",`),
};

it.each(Object.keys(cases))('a body with %s is accepted, kept byte for byte and worked', async (name) => {
  const body = cases[name] ?? '';
  // Not with `sign`: it adds a canary to the body.
  const answer = await post('stripe', await signers.stripe(body, { secret: secret('stripe') }));
  expect(await answer.json()).toEqual({ status: 'accepted' });
  await quiet();
  const [kept] = await sql<{ body: string }>('select body from webhooks.bodies');
  // Not toEqual: it would print a megabyte.
  expect(kept?.body === body).toBe(true);
  expect(await sql('select status, last_error from webhooks.events')).toEqual([{ status: 'done', last_error: null }]);
  expect(await sql('select balance from fixture.balances')).toEqual([{ balance: '4200' }]);
});

it('the largest body of these tests is exactly as long as the limit', () => {
  expect(cases['exactly as many bytes as the limit allows']?.length).toBe(LIMIT);
});

it('an amount beyond 2^53 reaches the balance unrounded', async () => {
  await post('stripe', await sign('stripe', charge('', '9007199254740993')));
  await quiet();
  expect(await sql('select balance from fixture.balances')).toEqual([{ balance: '9007199254740993' }]);
});

it.each([
  ['beyond 2^53', '', ['9007199254740992', '9007199254740993']],
  ['beyond 2^53, after a quote', '"note":"\\"",', ['9007199254740992', '9007199254740993']],
  ['beyond 2^53, after a backslash', '"note":"\\\\",', ['9007199254740992', '9007199254740993']],
  ['that are fractions', '', ['1521472262.9081811001', '1521472262.9081811002']],
  ['that are nearly 1', '', ['1.00000000000000000001', '1.00000000000000000002']],
])('two ids %s are two events, although JavaScript rounds them to one number', async (_which, before, ids) => {
  const answers = [];
  for (const id of ids) {
    answers.push(await (await post('gethook', await sign('gethook', `{${before}"id":${id},"type":"t"}`))).json());
  }
  expect(answers).toEqual([{ status: 'accepted' }, { status: 'accepted' }]);
  const rows = await sql<{ event_id: string }>('select event_id from webhooks.events order by 1');
  expect(rows.map((row) => row.event_id)).toEqual(ids);
});

it('a fraction stays a number if it is one that a computer calculates with, however many digits it was written with', () => {
  // C, PHP and Python write 0.1 in these ways.
  for (const text of [
    '0.1',
    '0.10000000000000001',
    '0.1000000000000000055511151231257827',
    '1.0000000000000000',
    '1e-7',
  ])
    expect(parseJson(text)).toEqual({ outcome: 'parsed', json: Number(text) });
});

it('an event without a usable type is claimed and ignored', async () => {
  for (const type of ['', '"type":7,', '"type":"a\\u0000",', '"type":{"a":1},']) {
    await post('gethook', await sign('gethook', `{${type}"id":"${randomUUID()}"}`));
  }
  await quiet();
  const rows = await sql<{ status: string }>('select status from webhooks.events');
  expect(rows).toEqual(Array.from({ length: 4 }, () => ({ status: 'ignored' })));
});

it('the headers that identified an event are kept with it, but its signature is not', async () => {
  await post('github', await sign('github', '{"zen":"keep it"}', { id: 'kept', type: 'ping' }));
  const [kept] = await sql<{ headers: Record<string, string> }>('select headers from webhooks.bodies');
  expect(kept?.headers).toMatchObject({ 'x-github-delivery': 'kept', 'x-github-event': 'ping' });
  expect(Object.keys(kept?.headers ?? {}).join()).not.toMatch(/signature/);
});
