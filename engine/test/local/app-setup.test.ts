import { afterAll, expect, it, vi } from 'vitest';
import type { TestProject } from 'vitest/node';
import setup from '../../src/testing/setup.ts';
import { makeCheckout } from '../checkout.ts';

const home = process.cwd();
afterAll(() => process.chdir(home));

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
