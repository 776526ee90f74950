import { mkdirSync, readdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Checkout, makeCheckout } from '../checkout.ts';
import { APP, HANDLER, RECEIVER, SOURCES } from '../orders-app.ts';

const TABLES = readFileSync('src/app/tables.ts', 'utf8');
let checkout: Checkout;
let runs = 0;

/** Notes how it is called, and fails if it is called like this. */
const PROGRAM = `#!/bin/sh
call="$(basename "$0") $*"
echo "$call" >> "$CALLS"
[ "$call" != "$FAILS" ] || { echo "this is wrong"; exit 1; }
`;

/** The programs that check runs are replaced, because they take long, and pass here anyhow. */
beforeAll(async () => {
  // The migrations of the template are those of its tables.
  checkout = await makeCheckout({ ...APP, 'src/app/tables.ts': TABLES });
  const modules = join(checkout.path, 'node_modules');
  unlinkSync(modules);
  mkdirSync(join(modules, '.bin'), { recursive: true });
  for (const name of readdirSync('node_modules')) {
    if (name !== '.bin') symlinkSync(resolve('node_modules', name), join(modules, name));
  }
  for (const program of ['tsc', 'biome', 'wrangler']) {
    writeFileSync(join(modules, '.bin', program), PROGRAM, { mode: 0o755 });
  }
});
afterAll(() => checkout.remove());

async function check(fails = 'nothing') {
  const file = join(checkout.path, `calls-${runs++}`);
  writeFileSync(file, '');
  const { code, text } = await checkout.run(['check'], { CALLS: file, FAILS: fails }).result;
  return { code, lines: text.split('\n'), calls: readFileSync(file, 'utf8').trim().split('\n') };
}

const TYPES = [
  'wrangler types worker-configuration.d.ts --check',
  'wrangler types worker-configuration.consumer.d.ts -c wrangler.consumer.toml --include-runtime=false --strict-vars=false --env-interface ConsumerEnv --check',
  'wrangler types worker-configuration.ops.d.ts -c wrangler.ops.toml --include-runtime=false --strict-vars=false --env-interface OpsEnv --check',
];
const BUILDS = ['wrangler.toml', 'wrangler.consumer.toml', 'wrangler.ops.toml'].map(
  (file) => `wrangler deploy --dry-run -c ${file} --env=`,
);
/** In the order in which they run, with the title of each. */
const CALLS: [call: string, title: string][] = [
  ['tsc -p .', 'types'],
  ['biome ci --colors=off .', 'lint and format (npm run format fixes most)'],
  ...TYPES.map((call): [string, string] => [call, `${call.split(' ')[2]} is up to date (npm run types)`]),
  ...BUILDS.map((call, n): [string, string] => [call, `the ${['receiver', 'consumer', 'ops'][n]} builds`]),
];

it('npm run check runs every part, says of each that it passes, and names what is probably forgotten', async () => {
  await checkout.write('src/app/sources.ts', SOURCES.replace("['order.paid']", "['order.paid', 'order.sent']"));
  const { code, lines, calls } = await check();
  await checkout.write('src/app/sources.ts', SOURCES);
  expect([code, calls]).toEqual([0, CALLS.map(([call]) => call)]);
  const titles = CALLS.map(([, title]) => title);
  expect(lines).toEqual(
    [
      ...['the wrangler files fit each other and the sources', ...titles.slice(0, 2), 'imports between the folders'],
      ...titles.slice(2, 5),
      'drizzle/app matches your tables',
      ...titles.slice(5),
    ]
      .map((title) => `ok  ${title}`)
      .concat('hint: no handler for orders/order.sent: write one, or remove the type from src/app/sources.ts'),
  );
});

it.each(CALLS.filter((_, n) => [0, 7].includes(n)))(
  'npm run check ends with an error if this fails: %s',
  async (call, title) => {
    const { code, lines, calls } = await check(call);
    expect([code, calls.at(-1), lines.slice(-2)]).toEqual([1, call, [`check: failed at ${title}`, 'this is wrong']]);
  },
);

it.each<[string, string, string, string | RegExp]>([
  [
    'a source without a secret',
    'wrangler.toml',
    RECEIVER.replace(', "ORDERS_WEBHOOK_SECRET"', ''),
    'source orders has no secret: add "ORDERS_WEBHOOK_SECRET" to secrets.required in wrangler.toml',
  ],
  [
    'an import that points the wrong way',
    'src/receiver/mine.ts',
    `import { handlers } from '../app/handlers/index.ts';\nexport const mine = handlers;`,
    'src/receiver/mine.ts must not import src/app/handlers/index.ts',
  ],
  [
    'a table without a migration',
    'src/app/tables.ts',
    `${TABLES}\nexport const notes = pgTable('check_notes', { id: text().primaryKey() });`,
    'no migration creates check_notes: run npm run db:generate, and commit the migration that it writes',
  ],
  [
    'a wrangler file that cannot be read',
    'wrangler.consumer.toml',
    'queues = [',
    /^check: wrangler\.consumer\.toml:\d+ can't be read/,
  ],
  [
    'a handler that cannot be loaded',
    'src/app/handlers/index.ts',
    `throw new TypeError('mine');\n${HANDLER}`,
    /TypeError: mine/,
  ],
])('npm run check ends with an error at %s', async (_what, file, text, message) => {
  const own = join(checkout.path, file);
  const before = await Promise.resolve()
    .then(() => readFileSync(own, 'utf8'))
    .catch(() => undefined);
  await checkout.write(file, text);
  const { code, lines } = await check();
  if (before === undefined) unlinkSync(own);
  else await checkout.write(file, before);
  expect(code).toBe(1);
  expect(lines).toContainEqual(
    typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
  );
});
