import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addEnvironment, CONFIGS } from '../../cli/config/worker-config.ts';
import { type Checkout, makeCheckout } from '../checkout.ts';
import { APP } from '../orders-app.ts';

let checkout: Checkout;
let runs = 0;

/** Notes how it is called. If the call begins like this, tsc fails, and another program is killed. */
const PROGRAM = `#!/bin/sh
call="$(basename "$0") $*"
echo "$call" >> "$CALLS"
case "$call" in "$FAILS"*) ;; *) exit 0 ;; esac
echo "this is wrong"
[ "$1" = -p ] || kill -9 $$
exit 1
`;

/** The programs that check runs are replaced, because they take long, and pass here anyhow. */
beforeAll(async () => {
  // The migrations of the template are those of its tables.
  checkout = await makeCheckout({ ...APP, 'src/tables.ts': readFileSync('src/tables.ts', 'utf8') });
  const modules = join(checkout.path, 'node_modules');
  unlinkSync(modules);
  mkdirSync(join(modules, '.bin'), { recursive: true });
  for (const name of readdirSync('node_modules')) {
    if (name !== '.bin') symlinkSync(resolve('node_modules', name), join(modules, name));
  }
  for (const program of ['tsc', 'biome', 'wrangler']) {
    writeFileSync(join(modules, '.bin', program), PROGRAM, { mode: 0o755 });
  }
  for (const path of Object.values(CONFIGS)) addEnvironment(join(checkout.path, path), 'staging');
});
afterAll(() => checkout.remove());

/** Runs a command. Code that has changed since another run is seen only by a process of its own. */
async function run(command: string, { fails = 'nothing', isNewCode = false } = {}) {
  const file = join(checkout.path, `calls-${runs++}`);
  writeFileSync(file, '');
  const env = { CALLS: file, FAILS: fails };
  const { code, text } = await (isNewCode ? checkout.run([command], env).result : checkout.call([command], env));
  return { code, lines: text.split('\n'), calls: readFileSync(file, 'utf8').trim().split('\n') };
}

/** Runs a command while a file is changed. */
async function runWith(file: string, change: (text: string) => string) {
  const own = join(checkout.path, file);
  const before = existsSync(own) ? readFileSync(own, 'utf8') : undefined;
  const after = change(before ?? '');
  expect(after).not.toBe(before);
  await checkout.write(file, after);
  const isNewCode = file.endsWith('.ts') && before !== undefined;
  return run('check', { isNewCode }).finally(() =>
    before === undefined ? unlinkSync(own) : writeFileSync(own, before),
  );
}

/** In the order in which they run, with the title of each. */
const PARTS: [call: string, title: string][] = [
  ['tsc -p .', 'types'],
  ['biome ci ', 'lint and format (npm run format fixes most)'],
  ...['worker-configuration.d.ts', 'worker-configuration.consumer.d.ts', 'worker-configuration.ops.d.ts'].map(
    (file): [string, string] => [`wrangler types ${file} `, `${file} is up to date (npm run types)`],
  ),
  ['wrangler deploy --dry-run -c wrangler.toml --env=', 'the receiver builds'],
  ['wrangler deploy --dry-run -c wrangler.consumer.toml --env=', 'the consumer builds'],
  ['wrangler deploy --dry-run -c wrangler.ops.toml --env=', 'the ops builds'],
];
const ALL = PARTS.map(([call]) => expect.stringContaining(call));

it('npm run check runs every part, says of each that it passes, and names what is probably forgotten', async () => {
  const { code, lines, calls } = await runWith('src/sources.ts', (text) =>
    text.replace("['order.paid']", "['order.paid', 'order.sent']"),
  );
  expect([code, calls]).toEqual([0, ALL]);
  const titles = PARTS.map(([, title]) => title);
  expect(lines).toEqual([
    ...['the wrangler files fit each other and the sources', ...titles.slice(0, 5), 'drizzle matches your tables'].map(
      (title) => `ok  ${title}`,
    ),
    ...titles.slice(5).map((title) => `ok  ${title}`),
    'hint: no handler for orders/order.sent: write one, or remove the type from src/sources.ts',
  ]);
});

it.each(PARTS.filter((_, n) => [0, 7].includes(n)))(
  'npm run check runs every part, and ends with an error, if this fails: %s',
  async (fails, title) => {
    const { code, lines, calls } = await run('check', { fails });
    expect([code, calls]).toEqual([1, ALL]);
    expect(lines.slice(-2)).toEqual([`check: failed at ${title}`, 'this is wrong']);
  },
);

it('npm run types ends with an error if one of its files fails', async () => {
  const { code, lines } = await run('types', { fails: PARTS[3]?.[0] });
  expect([code, lines]).toEqual([1, ['types: worker-configuration.consumer.d.ts could not be generated: see above']]);
});

it.each<[what: string, file: string, change: (text: string) => string, message: string | RegExp]>([
  [
    'a list of handlers with a hole',
    'src/handlers/index.ts',
    (text) => text.replace(': paid }', ': { paid, thank: undefined } } as never'),
    'handlers of orders/order.paid: thank is not a handler: write it with defineHandler() (src/handlers/index.ts)',
  ],
  [
    'a variable that is wrong only in another environment',
    'wrangler.consumer.toml',
    (text) => text.replace('[env.staging.vars]\nDEDUPE_DAYS = 30', '[env.staging.vars]\nDEDUPE_DAYS = 0'),
    'environment staging: DEDUPE_DAYS in [vars] of wrangler.consumer.toml must be a number of days',
  ],
  [
    'a queue of two environments',
    'wrangler.consumer.toml',
    (text) => text.replaceAll('two-dead-staging', 'two-dead'),
    '[env.staging] in wrangler.consumer.toml and wrangler.consumer.toml share the queue two-dead',
  ],
  [
    'an environment that one file alone has',
    'wrangler.ops.toml',
    (text) => `${text}\n[env.preview]\n`,
    'wrangler.toml has no environment preview (it has staging): npm run setup -- --env preview adds it',
  ],
  [
    'a table without a migration',
    'src/tables.ts',
    (text) => `${text}\nexport const notes = pgTable('check_notes', { id: text().primaryKey() });`,
    'no migration creates check_notes: run npm run db:generate and commit the new migration',
  ],
  [
    'a wrangler file that cannot be read',
    'wrangler.consumer.toml',
    () => 'queues = [',
    /^check: wrangler\.consumer\.toml:\d+ can't be read/,
  ],
  [
    'a handler that cannot be loaded',
    'src/handlers/index.ts',
    (text) => `throw new TypeError('mine');\n${text}`,
    "src/handlers/index.ts can't be loaded: mine",
  ],
])('npm run check ends with an error at %s', async (_what, file, change, message) => {
  const { code, lines } = await runWith(file, change);
  expect(code).toBe(1);
  expect(lines).toContainEqual(
    typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
  );
});
