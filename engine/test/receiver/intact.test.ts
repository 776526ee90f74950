import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { useRunning, WAIT } from '../running.ts';
import { signers } from '../signatures.ts';

const running = useRunning();
const { post, secret, sign, sql, quiet } = running;

const LIMIT = 1024 * 1024;

beforeEach(() => sql('delete from webhooks.events; delete from fixture.balances'));

/** The exact text of a charge, with an id of its own. */
function charge(extra: string): string {
  const object = `{"id":"in_1","customer":"cus_1","amount":4200,"currency":"eur"}`;
  return `{"id":"evt_${randomUUID()}","type":"charge.succeeded","created":1770000000,${extra}"data":{"object":${object}}}`;
}

const bodies: Record<string, string> = {
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

it('a body is accepted, kept byte for byte and worked, whatever is in it', async () => {
  for (const body of Object.values(bodies)) {
    // Not with `sign`: it adds a canary to the body.
    const answer = await post('stripe', await signers.stripe(body, { secret: secret('stripe') }));
    expect(await answer.json()).toEqual({ status: 'accepted' });
  }
  await quiet();
  const kept = (await sql<{ body: string }>('select body from webhooks.bodies')).map(({ body }) => body);
  const done = { status: 'done', last_error: null, count: String(kept.length) };
  expect(await sql('select status, last_error, count(*) from webhooks.events group by 1, 2')).toEqual([done]);
  expect(await sql('select balance from fixture.balances')).toEqual([{ balance: String(4200 * kept.length) }]);
  // Their names alone: a body may be a megabyte.
  const names = Object.keys(bodies).filter((name) => kept.includes(bodies[name] ?? ''));
  expect(names).toEqual(Object.keys(bodies));
});

it('an event without a usable type is claimed and ignored', async () => {
  for (const type of ['', '"type":7,', '"type":"a\\u0000",', '"type":{"a":1},']) {
    await post('gethook', await sign('gethook', `{${type}"id":"${randomUUID()}"}`));
  }
  await quiet();
  const rows = await sql<{ status: string }>('select status from webhooks.events');
  expect(rows).toEqual(Array.from({ length: 4 }, () => ({ status: 'ignored' })));
});

describe('an event of GitHub with the body of an earlier one', () => {
  /** GitHub doesn't sign its ids, and says the same each time that somebody stars a repository. */
  const star = async (id: string) =>
    post('github', await sign('github', '{"action":"started"}', { id, type: 'watch' }));
  const events = () => sql('select event_id, status, completions from webhooks.events order by event_id');

  it('is accepted, parked and not run, and the log says so', async () => {
    const answers = [await star('first'), await star('second'), await star('second')];
    const statuses = await Promise.all(answers.map(async (answer) => (await answer.json()) as object));
    expect(statuses).toEqual([{ status: 'accepted' }, { status: 'accepted' }, { status: 'duplicate' }]);
    await quiet();
    expect(await events()).toEqual([
      { event_id: 'first', status: 'ignored', completions: 1 },
      { event_id: 'second', status: 'parked', completions: 0 },
    ]);
    const line = running
      .logs()
      .split('\n')
      .find((one) => one.includes('"event_id":"second"'));
    expect(JSON.parse(line ?? '')).toMatchObject({ step: 'delivery', outcome: 'accepted', parked: 1 });
  });

  it('is parked by the consumer if it went through the queue while Postgres was away', async () => {
    await star('first');
    await quiet();
    running.stack.neon.fault = () => ({ kind: 'refused' });
    expect((await star('forwarded')).status).toBe(200);
    running.stack.neon.fault = undefined;
    const parked = { event_id: 'forwarded', status: 'parked', completions: 0 };
    await vi.waitFor(async () => expect(await events()).toContainEqual(parked), WAIT);
  });
});
