import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { beforeAll, expect, it } from 'vitest';
import { useAccount } from './account.ts';

const account = useAccount();
let url: string;
beforeAll(async () => {
  url = await account.newDatabase('production');
});

/** Runs setup, and answers its questions. */
async function setup(args: readonly string[], env: Record<string, string>, answers: readonly string[] = []) {
  const { calls } = account.cloudflare;
  const before = calls.length;
  const { child, result } = account.run(['setup', ...args], env);
  child.stdin?.end(answers.map((answer) => `${answer}\n`).join(''));
  const { code, text } = await result;
  const changes = calls.slice(before).filter((call) => !call.startsWith('GET '));
  return { code, text, changes };
}

it('goes from nothing to a delivery that the deployed Workers have worked, and asks three questions', async () => {
  const { code, text } = await setup([], {}, [url, 'the-secret-of-the-sender', 'y']);
  expect([code, text.match(/^(ok|done|would|needs)\b/gm)]).toEqual([0, ['ok', 'ok', ...Array(7).fill('done')]]);
  expect(text).toMatch(
    /^done {2}delivery {3}signed as orders: 200 after \d+ ms, ignored by the consumer \d+ ms later$/m,
  );
  expect(text).toContain('3 questions were asked.');
  expect(account.cloudflare.valuesOf('checkout-receiver').ORDERS_WEBHOOK_SECRET).toBe('the-secret-of-the-sender');
  for (const secret of [new URL(url).password, 'the-secret-of-the-sender', 'postgres://'])
    expect(text).not.toContain(secret);
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('claimcheck-secrets-'))).toEqual([]);
  expect(existsSync(`${account.checkout.path}/.dev.vars`)).toBe(false);
});

it('a second run finds everything and changes nothing', async () => {
  const { code, text, changes } = await setup(['--yes'], { DATABASE_URL: url });
  expect([code, text.match(/^(ok|done|would|needs)\b/gm), changes]).toEqual([0, Array(9).fill('ok'), []]);
});
