import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { CONFIGS } from './config/worker-config.ts';
import { readArguments } from './lib/arguments.ts';
import { UserError } from './lib/user-error.ts';

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
  const files = ['package.json', 'package-lock.json', ...Object.values(CONFIGS), 'docs/claimcheck.md'];
  return [
    {
      title: 'move README.md to docs/claimcheck.md, and write a README.md of your own',
      run() {
        // The links point from the folder docs/ from now on.
        const manual = readFileSync('README.md', 'utf8')
          .replaceAll('](docs/', '](')
          .replaceAll(/\]\((?=[A-Z])/g, '](../');
        writeFileSync('docs/claimcheck.md', manual);
        writeFileSync('README.md', readFileSync('workshop/init/README.md', 'utf8').replace('{name}', name));
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
              .replaceAll(
                new RegExp(`\\b${TEMPLATE}-(?=receiver|consumer|ops|events|effects|\\$queue)`, 'g'),
                `${name}-`,
              )
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
        cpSync('workshop/init/empty', '.', { recursive: true });
      },
    },
    {
      title: 'take the sample app out of the wrangler files',
      run() {
        replace(CONFIGS.receiver, /required = \[[^\]]*\]/, 'required = ["DATABASE_URL", "ORDERS_WEBHOOK_SECRET"]');
        replace(CONFIGS.consumer, /# The sample app:.*\n(\w+_URL = .*\n)+\n/, '');
      },
    },
    {
      // The engine's migrations stay as they are, and your first `npm run db:generate` begins yours.
      title: 'start your migrations anew, without the tables of the sample app',
      run() {
        rmSync('drizzle/app', { recursive: true });
        tool('drizzle-kit', 'generate');
      },
    },
  ];
}

function finishing(): Step[] {
  return [
    {
      title:
        'remove what only the template needs (workshop/init, .ci/fork, bench), and bring the generated types up to date',
      run() {
        for (const path of ['workshop/init', 'bench', '.ci/fork.ts']) rmSync(path, { recursive: true });
        replace('package.json', /^.*bench\/bench.*\n/m, '');
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
