import { afterEach, expect, it, vi } from 'vitest';
import type { Fault } from '../../../scripts/local/neon/endpoint.ts';
import { useRunning, WAIT } from '../running.ts';

const running = useRunning({ receiver: 'test/engine/fixture/wrangler.real-limits.toml' });
const { post, sign, sql } = running;

/** A value in the bodies of these tests that must never appear in a log or an answer. */
const CANARY = 'canary-7f3a';

afterEach(() => {
  running.stack.neon.fault = undefined;
});

async function expectSilence(answers: string[]): Promise<void> {
  const secret = running.secret('stripe');
  const { databaseUrl, workerUrls } = running.stack;
  const passwords = [databaseUrl, ...Object.values(workerUrls)].map((url) => new URL(url).password);
  for (const text of [...answers, running.logs()]) {
    expect(text).not.toContain(CANARY);
    expect(text).not.toContain(secret);
    for (const password of passwords) expect(text).not.toContain(password);
    expect(text).not.toMatch(/v1=/);
  }
}

const body = (id: string) =>
  JSON.stringify({
    id,
    type: 'charge.succeeded',
    data: { object: { id: CANARY, customer: CANARY, currency: CANARY } },
  });

it('no log and no answer contains a body, a secret or a signature, whatever the delivery is', async () => {
  const signed = await sign('stripe', body('evt_1'));
  const answers = [
    await post('stripe', signed),
    await post('stripe', { ...signed, body: signed.body.replace('evt_1', 'evt_2') }),
    await post('stripe', { headers: signed.headers, body: `${CANARY}{` }),
    await post('gethook', await sign('gethook', `[{"id":"","note":"${CANARY}"}]`)),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 401, 401, 400]);
  await expectSilence(await Promise.all(answers.map((answer) => answer.text())));
});

const faults: Fault[] = [
  { kind: 'server error' },
  { kind: 'server error', message: `quota exceeded for ${CANARY}` },
  { kind: 'connection died' },
  { kind: 'reply dropped' },
  { kind: 'refused' },
  { kind: 'slow', ms: 10_000 },
];

it.each(faults)('no log and no answer contains a body or a secret while Postgres fails with $kind', async (fault) => {
  running.stack.neon.fault = () => fault;
  const id = `evt_fault_${faults.indexOf(fault)}`;
  const answer = await post('stripe', await sign('stripe', body(id)));
  expect(answer.status).toBe(200);
  await vi.waitFor(() => {
    const line = running
      .logs()
      .split('\n')
      .find((one) => one.includes('"step":"delivery"') && one.includes(id));
    expect(line).toContain('"forwarded":true');
  }, WAIT);
  await expectSilence([await answer.text()]);
});

it('no log and no answer contains a body or a secret if Postgres refuses the statement with the body', async () => {
  await sql('alter table webhooks.bodies rename to hidden');
  try {
    const answer = await post('stripe', await sign('stripe', body('evt_refused')));
    expect(answer.status).toBe(200);
    await expectSilence([await answer.text()]);
    expect(running.logs()).toContain('npm run db:migrate');
  } finally {
    await sql('alter table webhooks.hidden rename to bodies');
  }
});

it('a payload that does not match its schema is parked with the path that failed and without the value', async () => {
  await post('stripe', await sign('stripe', body('evt_parked')));
  const row = await vi.waitFor(async () => {
    const parked = `select last_error from webhooks.events where event_id = 'evt_parked' and status = 'parked'`;
    const [found] = await sql<{ last_error: string }>(parked);
    return found ?? Promise.reject(new Error('not parked yet'));
  }, WAIT);
  expect(row.last_error).toContain('data.object.amount');
  expect(row.last_error).not.toContain(CANARY);
  await expectSilence([]);
});
