import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readArguments } from './local/arguments.ts';
import { UserError } from './local/user-error.ts';

const USAGE = 'npm run init -- <name> [--empty] [--dry-run]';

/** What this template is called until it is yours. */
const TEMPLATE = 'claimcheck';

/** Cloudflare allows 63 characters. The longest name that is made of it ends with `-effects-dead`. */
const NAME = /^[a-z][a-z0-9-]{0,48}[a-z0-9]$/;

interface Step {
  readonly title: string;
  run(): void;
}

/** Makes a fresh clone yours. */
export default async function main(): Promise<void> {
  const { name, empty, dryRun } = readArgs();
  refuseUnlessFresh(dryRun);
  const steps = [...renaming(name), ...(empty ? emptying() : []), ...finishing()];
  for (const { title, run } of steps) {
    if (!dryRun) run();
    console.log(`${dryRun ? 'would ' : 'ok  '}${title}`);
  }
  if (dryRun) return console.log('Nothing was changed.');
  console.log(`
This is ${name} now. Look at it with git status and git diff, and commit it. Then:
  npm run dev                      starts everything on this machine
  npm run send                     says how to send a signed sample
  docs/claimcheck.md               says how to add your sources, handlers, tables, effects and tests`);
}

function readArgs() {
  const { values, positionals } = readArguments({
    allowPositionals: true,
    options: { empty: { type: 'boolean', default: false }, 'dry-run': { type: 'boolean', default: false } },
  });
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw new UserError(USAGE);
  if (!NAME.test(name) || name === TEMPLATE) {
    throw new UserError(
      `"${name}" can't be a name: take 2 to 50 lower-case letters, digits and dashes, beginning with a letter, such as acme-hooks`,
    );
  }
  return { name, empty: values.empty, dryRun: values['dry-run'] };
}

function refuseUnlessFresh(dryRun: boolean): void {
  const { name } = JSON.parse(readFileSync('package.json', 'utf8')) as { name: string };
  if (name !== TEMPLATE) throw new UserError(`this is ${name} already: init runs once, on a fresh clone`);
  const { status, stdout } = spawnSync('git', ['status', '--porcelain'], { encoding: 'utf8' });
  if (status !== 0)
    throw new UserError('this is not a git checkout: run git init, and commit, so that you can see what init does');
  if (stdout !== '' && !dryRun) throw new UserError('there are uncommitted changes: commit or stash them first');
}

function renaming(name: string): Step[] {
  const files = ['package.json', 'package-lock.json', 'wrangler.toml', 'wrangler.consumer.toml', 'docs/claimcheck.md'];
  return [
    {
      title: 'move README.md to docs/claimcheck.md, and write a README.md of your own',
      run() {
        // The links point from the folder docs/ from now on.
        const manual = readFileSync('README.md', 'utf8')
          .replaceAll('](docs/', '](')
          .replaceAll(/\]\((?=[A-Z])/g, '](../');
        writeFileSync('docs/claimcheck.md', manual);
        writeFileSync('README.md', readFileSync('scripts/init/README.md', 'utf8').replace('{name}', name));
      },
    },
    {
      title: `name the package, the Workers and the queues ${name}`,
      run() {
        for (const file of files) {
          const text = readFileSync(file, 'utf8');
          writeFileSync(
            file,
            text
              .replaceAll(new RegExp(`\\b${TEMPLATE}-(?=receiver|consumer|events|effects|\\$queue)`, 'g'), `${name}-`)
              .replaceAll(`"name": "${TEMPLATE}"`, `"name": "${name}"`),
          );
        }
      },
    },
  ];
}

function emptying(): Step[] {
  return [
    {
      title: 'replace the sample app in src/app and test/app by one small source and handler',
      run() {
        for (const folder of ['src/app', 'test/app']) rmSync(folder, { recursive: true });
        cpSync('scripts/init/empty', '.', { recursive: true });
      },
    },
    {
      title: 'take the sample app out of the two wrangler files',
      run() {
        replace('wrangler.toml', /required = \[[^\]]*\]/, 'required = ["DATABASE_URL", "ORDERS_WEBHOOK_SECRET"]');
        replace('wrangler.consumer.toml', /# The sample app:.*\n(\w+_URL = .*\n)+\n/, '');
      },
    },
    {
      title: 'start the migrations anew, without the tables of the sample app',
      run() {
        rmSync('drizzle', { recursive: true });
        tool('drizzle-kit', 'generate', '--name', 'claimcheck');
      },
    },
  ];
}

function finishing(): Step[] {
  return [
    {
      title:
        'remove what only the template needs (scripts/init, .ci/fork, bench), and bring the generated types up to date',
      run() {
        for (const folder of ['scripts/init', 'bench']) rmSync(folder, { recursive: true });
        for (const file of ['.ci/fork.ts', 'scripts/bench.ts']) rmSync(file, { force: true });
        replace('package.json', /^.*scripts\/run\.mjs bench.*\n/m, '');
        replace('docs/claimcheck.md', /^\| `npm run bench`.*\n/m, '');
        replace('AGENTS.md', /^\| `bench\/`.*\n/m, '');
        tool('node', 'scripts/run.mjs', 'types');
        tool('biome', 'check', '--write', '.');
      },
    },
  ];
}

function replace(file: string, pattern: RegExp, replacement: string): void {
  const text = readFileSync(file, 'utf8');
  if (!pattern.test(text)) throw new UserError(`${file} is not as the template has it: ${pattern} is not in it`);
  writeFileSync(file, text.replace(pattern, replacement));
}

function tool(program: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(`node_modules/.bin/${program}`, args, { encoding: 'utf8' });
  if (status !== 0) throw new UserError(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`);
}
