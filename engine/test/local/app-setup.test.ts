import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { makeCheckout } from '../checkout.ts';

/** Calls the set-up of the app's tests as vitest does, and prints what it hands to them. */
const TRY = `
import setup from '../test/setup.ts';
export default async function main() {
  const provided = [];
  const stop = await setup({ provide: (_name, app) => provided.push(app.receiver), onTestsRerun() {} } as never);
  await stop();
  console.log(JSON.stringify(provided));
}`;

it('npm test says which table has no migration, instead of failing at what a test expects', async () => {
  const checkout = await makeCheckout();
  await checkout.write('test/setup.ts', readFileSync('test/setup.ts', 'utf8'));
  await checkout.write('engine/workshop/try-setup.ts', TRY);
  await checkout.write(
    'src/tables.ts',
    readFileSync('src/tables.ts', 'utf8').concat(
      "export const notes = pgTable('setup_notes', { id: text().primaryKey() });",
    ),
  );
  const { out } = await checkout.run(['engine/workshop/try-setup']).result;
  expect(JSON.parse(out.trim().split('\n').at(-1) ?? '')).toEqual([
    { problem: expect.stringMatching(/^no migration creates setup_notes: run npm run db:generate/) },
  ]);
  await checkout.remove();
});
