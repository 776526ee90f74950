import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import type { TestProject } from 'vitest/node';
import setup from '../../src/testing/setup.ts';
import { makeCheckout } from '../checkout.ts';
import { effectsCalling, SOURCES } from '../orders-app.ts';

const home = process.cwd();
afterEach(() => process.chdir(home));

it('the tests of an app say which table has no migration, instead of failing at what they expect', async () => {
  const notes = "export const notes = pgTable('setup_notes', { id: text().primaryKey() });";
  const checkout = await makeCheckout();
  await checkout.write('src/tables.ts', `import { pgTable, text } from 'drizzle-orm/pg-core';\n${notes}`);
  process.chdir(checkout.path);
  const provide = vi.fn();
  const stop = await setup({ provide, onTestsRerun() {} } as unknown as TestProject);
  await stop();
  expect(provide.mock.calls).toEqual([
    [
      'app',
      expect.objectContaining({ receiver: { problem: expect.stringContaining('no migration creates setup_notes') } }),
    ],
  ]);
  await checkout.remove();
});

it('the tests of an app deliver for tenants, which are made when they are first named', async () => {
  const checkout = await makeCheckout();
  // The checkout has the template's migrations.
  for (const file of ['vitest.config.ts', 'src/tables.ts']) await checkout.write(file, readFileSync(file, 'utf8'));
  await checkout.write('src/sources.ts', SOURCES.replace("['order.paid']", "['order.paid'], tenants: true"));
  const effects = effectsCalling('env.THANKS_URL + "/thanks/" + tenant').replace('{ key,', '{ key, tenant,');
  await checkout.write('src/effects/index.ts', effects);
  await checkout.write(
    'test/tenants.test.ts',
    `
    import { useApp } from 'claimcheck/testing';
    import { expect, it } from 'vitest';
    const app = useApp();
    const body = { id: 'o_1', type: 'order.paid', record: 'a' };
    it.each([1, 2])('delivers, time %i', async () => {
      for (const tenant of ['acme', 'globex']) {
        const event = await app.deliver('orders', 'order.paid', body, { tenant });
        expect(event).toMatchObject({ id: tenant + ':o_1', status: 'done', effects: [{ status: 'sent' }] });
      }
      expect(app.outside.requests.map(({ path }) => path)).toEqual(['/thanks/acme', '/thanks/globex']);
      await expect(app.deliver('orders', 'order.paid', body)).rejects.toThrow('orders has tenants: say which one');
    });`,
  );
  const vitest = join(home, 'node_modules/vitest/vitest.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [vitest, 'run'], {
    cwd: checkout.path,
    encoding: 'utf8',
  });
  expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('2 passed')]);
  await checkout.remove();
});
