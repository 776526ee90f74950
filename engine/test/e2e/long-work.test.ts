import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadWrangler, OFFLINE } from '../../cli/config/worker-config.ts';
import { WAIT } from '../database.ts';
import { exportData } from './patterns.ts';

let harness: ReturnType<ReturnType<typeof loadWrangler>['createTestHarness']>;
let url: URL;

beforeAll(async () => {
  Object.assign(process.env, OFFLINE, { WRANGLER_LOG: 'warn' });
  harness = loadWrangler().createTestHarness({ workers: [{ configPath: 'engine/test/e2e/long-work.wrangler.toml' }] });
  ({ url } = await harness.listen());
});
afterAll(() => harness?.close());

it('an effect that is sent twice starts its Workflow once, with its key as the id', async () => {
  const key = 'f'.repeat(64);
  const send = async () => (await fetch(new URL(key, url), { method: 'POST' })).status;
  expect([await send(), await send()]).toEqual([200, 200]);
  const state = async () => (await fetch(new URL(key, url))).json();
  const output = { account: 'a', key, runs: 1 };
  await expect.poll(state, WAIT).toMatchObject({ status: 'complete', output });
  expect(await send()).toBe(200);
  expect(await state()).toMatchObject({ status: 'complete', output });
});

it('a Workflow that can be neither started nor found makes the effect fail', async () => {
  const away = async () => {
    throw new Error('away');
  };
  const known = async () => ({});
  const send = (get: () => Promise<object>) =>
    exportData.send({ account: 'a' } as never, { key: 'k', env: { EXPORTS: { create: away, get } } } as never);
  await expect(send(away)).rejects.toThrow('away');
  // As Cloudflare answers to an id that exists. Locally it is no error.
  expect((await send(known)).status).toBe(200);
});
