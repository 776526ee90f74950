import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { connect } from '../cli/database/connect.ts';
import { readArguments } from '../cli/lib/arguments.ts';
import { UserError } from '../cli/lib/user-error.ts';
import { STRANGE_FOLDER } from './checkout.ts';

const USAGE = `node engine/workshop/run.mjs forks [--ci] [--node <version>] [--kind sample|empty|source]

Makes forks of the last commit in a folder with a strange name, and tries everything that their owners do, on Node 20, 22
and 24.
  --ci   makes one fork with and one without the sample app on this Node at the same time, and in the latter follows the
         tutorial and upgrades to a made-up version`;

/** A fork's owner should be able to read it in an hour. Doesn't count package-lock.json and vendor/. */
const MOST_FILES = 50;

/** References to things that exist only in the template. */
const GONE =
  /(?<!claimcheck\/)\bengine\/|\bbench\/|workshop|\.ci\/|CONTRIBUTING|(?<![\w/.-])docs\/|npm run -w|npm run init/;

/** The tested versions of Node. On an older Node, a fork uses the package `node`. */
const NODES = ['20', '22', '24'];
const OLDEST_OF_ITS_OWN = 22;

const KINDS: Readonly<Record<string, readonly string[]>> = { sample: [], empty: ['--empty'], source: ['--source'] };

/** For each kind of fork, a source whose sample runs a handler. */
const SENT: Readonly<Record<string, string>> = { sample: 'stripe', empty: 'orders', source: 'stripe' };

const root = join(mkdtempSync(join(tmpdir(), 'forks-')), STRANGE_FOLDER);
const ends: (() => unknown)[] = [() => rmSync(dirname(root), { recursive: true, force: true })];

export default async function main(): Promise<void> {
  const { values } = readArguments({
    usage: USAGE,
    options: { ci: { type: 'boolean', default: false }, node: { type: 'string' }, kind: { type: 'string' } },
  });
  // Otherwise this database would be migrated.
  Reflect.deleteProperty(process.env, 'DATABASE_URL');
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  mkdirSync(root);
  try {
    if (values.ci && values.kind === undefined) await tryAllOnce();
    else if (values.ci) await ONCE[values.kind ?? '']?.();
    else await tryAll(values.node ? [values.node] : NODES, values.kind ? [values.kind] : Object.keys(KINDS));
    console.log('\nThe forks pass.');
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

/** The trials of --ci, by kind. */
const ONCE: Readonly<Record<string, () => Promise<void>>> = {
  async sample() {
    const fork = new Fork('acme-sample');
    fork.init();
    fork.check('acme-sample');
    fork.run('npm', 'ci', '--prefer-offline');
    fork.checkTypes();
    for (const command of ['check', 'test', 'demo']) fork.run('npm', 'run', command);
    fork.checkPositions();
  },
  async empty() {
    const fork = new Fork('acme-hooks');
    refusals(fork);
    fork.init('--empty');
    fork.check('acme-hooks');
    fork.run('npm', 'ci', '--prefer-offline');
    for (const command of ['check', 'test']) fork.run('npm', 'run', command);
    followTutorial(fork.folder);
    // Check, test and demo run after the upgrade.
    for (const command of ['db:generate', 'types']) fork.run('npm', 'run', command);
    fork.commit('A source, a table, an effect, a handler and their test, as in the tutorial');
    await upgrade(fork);
  },
};

/**
 * Tries each kind in a separate process, because npm and starting programs take most of the time. Prints the outputs
 * one after the other.
 */
async function tryAllOnce(): Promise<void> {
  const tried = Object.keys(ONCE).map(
    (kind) =>
      new Promise<boolean>((resolve) => {
        const args = ['engine/workshop/run.mjs', 'forks', '--ci', '--kind', kind];
        execFile(process.execPath, args, { maxBuffer: 2 ** 26 }, (error, out, errors) => {
          console.log(out + errors);
          resolve(error === null);
        });
      }),
  );
  if ((await Promise.all(tried)).includes(false)) throw new UserError('a fork failed: see above');
}

async function tryAll(nodes: readonly string[], kinds: readonly string[]): Promise<void> {
  for (const version of nodes) {
    const path = installNode(version);
    for (const kind of kinds) {
      const fork = new Fork(`acme-${kind}-${version}`, path);
      fork.init(...(KINDS[kind] ?? []));
      fork.check(`acme-${kind}-${version}`, kind === 'source');
      fork.run('npm', 'ci', '--prefer-offline');
      // Otherwise every `npm run` would use the package.
      if (Number(version) >= OLDEST_OF_ITS_OWN) fork.run('npm', 'uninstall', 'node', '--no-audit', '--no-fund');
      for (const command of ['check', 'test', 'demo']) fork.run('npm', 'run', command);
      fork.checkPositions(kind === 'source' ? 'engine' : undefined);
      await fork.develop(SENT[kind] ?? '');
      await fork.developPlainly(SENT[kind] ?? '');
      rmSync(fork.folder, { recursive: true, force: true });
    }
  }
}

const CONFIGS = ['wrangler.toml', 'wrangler.consumer.toml', 'wrangler.ops.toml'];

/** Installs a version of Node with the npm package `node`. Returns its folder. */
function installNode(version: string): string {
  const folder = join(dirname(root), `node-${version}`);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{}');
  execFileSync('npm', ['install', `node@${version}`, '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    stdio: 'inherit',
  });
  return join(folder, 'node_modules/node/bin');
}

class Fork {
  readonly folder: string;
  private readonly name: string;
  private readonly env: NodeJS.ProcessEnv;

  /** Clones the last commit. */
  constructor(name: string, node?: string) {
    this.name = name;
    this.folder = join(root, name);
    git('.', 'clone', '--quiet', '.', this.folder);
    symlinkSync(resolve('node_modules'), join(this.folder, 'node_modules'));
    // Remove this checkout's programs from the PATH, because the fork must use its own.
    const path = (process.env.PATH ?? '').split(delimiter).filter((one) => !/node_modules[\\/]\.bin$/.test(one));
    const own = node ?? dirname(process.execPath);
    this.env = { ...process.env, NO_COLOR: '1', PATH: [own, ...path].join(delimiter) };
  }

  init(...options: string[]): void {
    const kept = join(this.folder, 'engine/kept.txt');
    // Ignored files may belong to the user.
    appendFileSync(join(this.folder, '.git/info/exclude'), 'kept.txt\n');
    writeFileSync(kept, 'mine');
    this.run('npm', 'run', 'init', '--', this.name, ...options);
    expect(readFileSync(kept, 'utf8') === 'mine', 'a file that git ignores is left alone');
    rmSync(kept);
    rmSync(join(this.folder, 'node_modules'));
    this.commit('Made ours');
  }

  run(program: string, ...args: string[]): void {
    console.log(`\n${this.name} $ ${program} ${args.join(' ')}`);
    const started = performance.now();
    execFileSync(program, args, { cwd: this.folder, stdio: ['ignore', 'inherit', 'inherit'], env: this.env });
    console.log(`(${((performance.now() - started) / 1000).toFixed(1)} s)`);
  }

  output(program: string, ...args: string[]): { readonly status: number | null; readonly text: string } {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: this.folder, encoding: 'utf8', env: this.env });
    return { status, text: stdout + stderr };
  }

  expectFailure(words: string, program: string, ...args: string[]): void {
    const { status, text } = this.output(program, ...args);
    expect(status !== 0 && text.includes(words), `${args.join(' ')} fails with "${words}": ${text}`);
  }

  /** Checks the fork's files, and that nothing refers to missing files. */
  check(name: string, hasSource = false): void {
    const files = git(this.folder, 'ls-files', '-z').split('\0').filter(Boolean);
    const own = files.filter((file) => !/^(package-lock\.json$|vendor\/|engine\/)/.test(file));
    const { version } = this.json('engine', hasSource) ?? JSON.parse(readFileSync('engine/package.json', 'utf8'));
    const manifest = JSON.parse(this.read('package.json'));
    const scripts = Object.keys(manifest.scripts);
    expect(manifest.name === name && manifest.claimcheck.checked === version, `it is ${name}, made of ${version}`);
    expect(own.length <= MOST_FILES, `${own.length} files, at most ${MOST_FILES}`);
    expect(files.some((file) => file.startsWith('engine/')) === hasSource, 'it has engine/ only with --source');
    const readme = this.read('README.md');
    for (const script of scripts) {
      const command = script === 'test' ? 'npm test' : `npm run ${script}`;
      expect(readme.includes(`| \`${command}`), `README.md has a line for ${command}`);
    }
    const problems = own.flatMap((file) => {
      const lines = this.read(file).split('\n');
      const commands = lines.flatMap((line) =>
        Array.from(line.matchAll(/npm run (?:-\S+ )*([a-z][\w:-]*)/g), ([, one = '']) => one),
      );
      const foreign = lines.filter((line) => GONE.test(line) && !(hasSource && line.includes('"engine"')));
      return [
        ...foreign.map((line) => `${file}: ${line.trim()}`),
        ...commands.filter((one) => !scripts.includes(one)).map((one) => `${file}: npm run ${one}`),
      ];
    });
    expect(problems.length === 0, ['nothing refers to what is not there', ...problems].join('\n'));
  }

  /** An app doesn't check the types of packages, because those of other packages conflict. Ours must have no errors. */
  checkTypes(): void {
    const { text } = this.output('npx', 'tsc', '-p', '.', '--skipLibCheck', 'false');
    const errors = text.split('\n').filter((line) => /^(node_modules\/claimcheck|src|test)\//.test(line));
    expect(errors.length === 0, ['the types of the package have no error', ...errors].join('\n'));
  }

  /** Checks that a position in the deployed consumer translates to a line of the package. */
  checkPositions(engine = 'node_modules/claimcheck'): void {
    const folder = join(dirname(root), 'built');
    this.output('npx', 'wrangler', 'deploy', '--dry-run', '--outdir', folder, '-c', 'wrangler.consumer.toml');
    const lines = readFileSync(join(folder, 'consumer.js'), 'utf8').split('\n');
    rmSync(folder, { recursive: true, force: true });
    const at = lines.findIndex((line) => line.includes('there is no effect ')) + 1;
    const handler = lines.findIndex((line) => line.includes('= defineHandler(')) + 1;
    const position = `send (consumer.js:${at}:25) < handle (consumer.js:${handler}:20)`;
    const { text } = this.output('npx', 'claimcheck', 'ops', 'position', position);
    expect(text.includes(`${engine}/src/consumer/send-effects.ts:`), `a frame of the engine names its file: ${text}`);
    expect(/handle \(src\/handlers\/[\w-]+\.ts:\d+/.test(text), `a frame of a handler names its file: ${text}`);
  }

  /** Runs `npm run dev` and waits until a delivery is worked. */
  async develop(source: string): Promise<void> {
    const port = await freePort();
    const dev = this.start({ PORT: String(port) }, 'npm', 'run', 'dev');
    await dev.says(/^ready/m);
    this.run('npm', 'run', 'send', '--', source, '--url', `http://localhost:${port}`);
    await dev.says(/^completion .* done/m);
    await dev.stop();
  }

  /** The same with plain wrangler commands. */
  async developPlainly(source: string): Promise<void> {
    const port = await freePort();
    const database = this.start({}, 'npm', 'run', 'db');
    await database.says(/^ready/m);
    const configs = CONFIGS.flatMap((path) => ['-c', path]);
    const dev = this.start({}, 'npx', 'wrangler', 'dev', ...configs, '--port', String(port), '--inspector-port', '0');
    await dev.says(/Ready on/);
    this.run('npm', 'run', 'send', '--', source, '--url', `http://localhost:${port}`);
    await dev.says(/"step":"completion".*"outcome":"done"/);
    await dev.stop();
    await database.stop();
  }

  /** Starts a program in its own process group, which ends with it. */
  start(env: Readonly<Record<string, string>>, program: string, ...args: string[]) {
    console.log(`\n${this.name} $ ${program} ${args.join(' ')} &`);
    const child = spawn(program, args, {
      cwd: this.folder,
      env: { ...this.env, ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        text += data;
      });
    }
    const exited = once(child, 'exit');
    const interrupt = () => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-Number(child.pid), 'SIGINT');
    };
    const stop = async () => {
      interrupt();
      await exited;
    };
    ends.push(stop);
    // Ctrl-C doesn't reach other process groups.
    process.once('exit', interrupt);
    return {
      stop,
      says: async (words: RegExp) => {
        const started = Date.now();
        while (!words.test(text) && child.exitCode === null && Date.now() - started < SAYS_WITHIN_MS) {
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        expect(words.test(text), `${program} ${args.join(' ')} says ${words}\n${text}`);
      },
    };
  }

  commit(message: string): void {
    git(this.folder, 'add', '--all');
    git(this.folder, '-c', 'user.name=acme', '-c', 'user.email=acme@example.com', 'commit', '--quiet', '-m', message);
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), 'utf8');
  }

  private json(folder: string, isThere: boolean): { readonly version: string } | undefined {
    return isThere ? JSON.parse(this.read(`${folder}/package.json`)) : undefined;
  }
}

/** Enough for a slow machine to start Postgres and wrangler. */
const SAYS_WITHIN_MS = 120_000;

/** Checks that an init that is refused, or fails in the middle, changes nothing. */
function refusals(fork: Fork): void {
  const { folder } = fork;
  const init = (...args: string[]) => ['npm', 'run', 'init', '--', ...args] as const;
  expect(fork.output(...init('acme-hooks', '--empty', '--dry-run')).text.includes('Nothing was changed'), 'a dry run');
  fork.expectFailure("can't be a name", ...init('Acme Hooks'));
  writeFileSync(join(folder, 'note.txt'), 'not committed');
  fork.expectFailure('there are uncommitted changes', ...init('acme-hooks'));
  rmSync(join(folder, 'note.txt'));
  // Git doesn't see an empty folder, but a folder at a file's path prevents writing the file.
  const obstacle = join(folder, '.github/workflows/deploy.yml');
  mkdirSync(obstacle);
  fork.expectFailure('move it away', ...init('acme-hooks'));
  rmdirSync(obstacle);
  expect(git(folder, 'status', '--porcelain') === '' && existsSync(join(folder, 'engine')), 'nothing has changed');
}

/** Follows the tutorial's code blocks. A block that begins with a path is that file, or a part of a wrangler file. */
function followTutorial(folder: string): void {
  const tutorial = readFileSync('docs/tutorial.md', 'utf8');
  const blocks = tutorial.matchAll(/```(?:ts|toml)\n(?:\/\/|#) ((?:src|test|wrangler)\S+)\n(.*?)```/gs);
  let files = 0;
  for (const [, file = '', text = ''] of blocks) {
    console.log(`tutorial: ${file}`);
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file.endsWith('.toml') ? merged(readFileSync(path, 'utf8'), text) : text);
    files++;
  }
  expect(files >= 8, `the tutorial has ${files} files to write`);
}

/**
 * Merges a part into a wrangler file. A list replaces the file's list, and lines below a heading go below that heading.
 */
function merged(toml: string, part: string): string {
  const [heading = '', ...lines] = part.split('\n');
  const result = heading.startsWith('[')
    ? toml.replace(heading, [heading, ...lines].join('\n').trimEnd())
    : toml.replace(/required = \[[^\]]*\]/, part.trimEnd());
  expect(result !== toml, `the wrangler file has a place for: ${heading}`);
  return result;
}

/** The made-up version is higher than every real one, and its demo ends with another line. */
const NEXT = '99.0.0';
const NEW_LINE = 'Every event was worked once, and nothing was lost, in the next version.';
/** The column that the engine's new migration adds. */
const NEW_COLUMN = { table: 'alerts', column: 'note' };

/** Installs the made-up version in a fork with an app whose migration is newer than the engine's new one. */
async function upgrade(fork: Fork): Promise<void> {
  const database = fork.start({}, 'npm', 'run', 'db');
  await database.says(/^ready/m);
  const { DATABASE_URL = '' } = parseEnv(fork.read('.dev.vars'));
  expect(!(await hasNewColumn(DATABASE_URL)), 'the database is of the version before');
  const [old = ''] = readdirSync(join(fork.folder, 'vendor'));
  packNextVersion(join(fork.folder, 'vendor'));

  fork.run('npm', 'install', `./vendor/claimcheck-${NEXT}.tgz`, '--no-audit', '--no-fund', '--prefer-offline');
  rmSync(join(fork.folder, 'vendor', old));
  const { status, text } = fork.output('npm', 'run', 'check');
  console.log(text);
  expect(status !== 0 && text.includes('Delete the attic.'), 'npm run check says what the changelog asks');
  const manifest = fork.read('package.json').replace(/"checked": "[^"]*"/, `"checked": "${NEXT}"`);
  writeFileSync(join(fork.folder, 'package.json'), manifest);
  for (const command of ['check', 'test']) fork.run('npm', 'run', command);
  expect(fork.output('npm', 'run', 'demo').text.includes(NEW_LINE), 'the demo is that of the new version');
  const changed = git(fork.folder, 'status', '--porcelain').trim().split('\n');
  const others = changed.filter((line) => !/ (package\.json|package-lock\.json|vendor\/.*)$/.test(line));
  expect(others.length === 0, ["the app's own files are as they were", ...others].join('\n'));

  expect(!(await hasNewColumn(DATABASE_URL)), 'the upgrade itself changes no database');
  fork.run('npm', 'run', 'db:migrate');
  expect(
    await hasNewColumn(DATABASE_URL),
    'the new migration of the engine is applied, although one of the app is newer',
  );
  await database.stop();
}

/** Packs a copy of the last commit with a changed file, a new migration and a task for owners. */
function packNextVersion(vendor: string): void {
  const folder = join(root, 'next');
  git('.', 'clone', '--quiet', '.', folder);
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const edit = (path: string, change: (text: string) => string) => {
    const before = readFileSync(join(folder, path), 'utf8');
    const after = change(before);
    expect(after !== before, `${path} has what the next version changes`);
    writeFileSync(join(folder, path), after);
  };
  edit('engine/package.json', (text) => text.replace(/"version": "[^"]*"/, `"version": "${NEXT}"`));
  edit('engine/cli/demo.ts', (text) => text.replace('Every event was worked once, and nothing was lost.', NEW_LINE));
  const section = `## [${NEXT}] - 2027-01-15\n\nMade up.\n\n### You must do\n\nDelete the attic.\n\n`;
  edit('CHANGELOG.md', (text) => text.replace(/^## \[/m, `${section}## [`));
  const { table, column } = NEW_COLUMN;
  const sql = `ALTER TABLE "webhooks"."${table}" ADD COLUMN "${column}" text;`;
  writeFileSync(join(folder, 'engine/drizzle/9999_next.sql'), sql);
  edit('engine/drizzle/meta/_journal.json', (text) => {
    const journal = JSON.parse(text);
    // Directly after the engine's newest migration, and so long before a fork's own.
    const { idx, when } = journal.entries.at(-1);
    const entry = { idx: idx + 1, version: '7', when: when + 1, tag: '9999_next', breakpoints: true };
    return JSON.stringify({ ...journal, entries: [...journal.entries, entry] });
  });
  execFileSync(process.execPath, ['engine/workshop/run.mjs', 'pack', 'out'], { cwd: folder, stdio: 'inherit' });
  cpSync(join(folder, `out/claimcheck-${NEXT}.tgz`), join(vendor, `claimcheck-${NEXT}.tgz`));
}

async function hasNewColumn(databaseUrl: string): Promise<boolean> {
  const client = await connect(databaseUrl);
  const { rowCount } = await client.query(
    `select from information_schema.columns where table_schema = 'webhooks' and table_name = $1 and column_name = $2`,
    [NEW_COLUMN.table, NEW_COLUMN.column],
  );
  await client.end();
  return rowCount === 1;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address ? address.port : 0;
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`expected: ${what}`);
  console.log(`ok  ${what.split('\n', 1)[0]?.slice(0, 200)}`);
}

function git(folder: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd: folder, encoding: 'utf8' });
}
