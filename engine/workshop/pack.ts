import { spawnSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { programOf } from '../cli/lib/app.ts';
import { readArguments } from '../cli/lib/arguments.ts';
import { UserError } from '../cli/lib/user-error.ts';

const USAGE = `node engine/workshop/run.mjs pack [<folder>]

Writes the package claimcheck-<version>.tgz into a folder, without what only its makers need.`;

export default function main(): void {
  const { positionals } = readArguments({ usage: USAGE, words: 1 });
  console.log(pack(positionals[0] ?? '.'));
}

/** Returns the path of the tarball. The same files give the same bytes. */
export function pack(destination: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'claimcheck-pack-'));
  try {
    const stage = join(folder, 'package');
    build(folder, stage);
    mkdirSync(destination, { recursive: true });
    // On Windows npm is a shell script. Paths may contain special characters, so they are passed as variables.
    const env = { ...process.env, npm_config_pack_destination: resolve(destination) };
    const options = { cwd: stage, shell: true, encoding: 'utf8', env } as const;
    const { status, stderr } = spawnSync('npm pack --silent --ignore-scripts', options);
    if (status !== 0) throw new UserError(`npm pack failed: ${stderr}`);
    return join(destination, `claimcheck-${manifest().version}.tgz`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function build(folder: string, stage: string): void {
  // The TypeScript is included because the source maps refer to it. The types in `exports` are in dist/, so an app's
  // compiler never checks it.
  for (const name of ['src', 'cli']) {
    cpSync(join('engine', name), join(stage, name), { recursive: true, filter: isPacked });
  }
  // Inside this checkout's node_modules, tsc would write imports of files as imports of packages.
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), 'junction');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(compilerOptions(stage)));
  run(process.execPath, [programOf('typescript', 'tsc'), '-p', folder]);
  // Copy what tsc doesn't write: the console's texts and plain JavaScript.
  for (const path of globSync('{src,cli}/**/*.{css,js,mjs}', { cwd: stage })) {
    mkdirSync(dirname(join(stage, 'dist', path)), { recursive: true });
    renameSync(join(stage, path), join(stage, 'dist', path));
  }
  cpSync('engine/drizzle', join(stage, 'drizzle'), { recursive: true });
  addTexts(stage);
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`);
}

/** Adds the package's texts, which are above engine/ in the template. */
export function addTexts(folder: string): void {
  cpSync('docs', join(folder, 'docs'), { recursive: true, filter: (path) => !FOR_MAKERS.test(path) });
  for (const page of readdirSync(join(folder, 'docs'), { recursive: true, encoding: 'utf8' })) {
    if (!page.endsWith('.md')) continue;
    const path = join(folder, 'docs', page);
    const text = readFileSync(path, 'utf8').replaceAll('../engine/', '../');
    writeFileSync(path, text.replaceAll(/(?<=[`[])engine\/(?=\w)/g, ''));
  }
  for (const name of ['CHANGELOG.md', 'LICENSE', 'SECURITY.md']) cpSync(name, join(folder, name));
  cpSync('engine/README.md', join(folder, 'README.md'));
}

/** Pictures that only the template's README shows. */
const FOR_MAKERS = /docs[\\/]images[\\/].*-dark\.png$/;

/** A provider's proof is for makers. */
function isPacked(path: string): boolean {
  return !path.endsWith('.proof.ts');
}

function compilerOptions(stage: string): object {
  return {
    extends: resolve('tsconfig.json'),
    compilerOptions: {
      rootDir: stage,
      outDir: join(stage, 'dist'),
      noEmit: false,
      noEmitOnError: true,
      declaration: true,
      sourceMap: true,
      rewriteRelativeImportExtensions: true,
      // The library of Node 22, because the tests' Node is newer.
      lib: ['ES2024', 'ESNext.Collection', 'ESNext.Iterator'],
    },
    include: [join(stage, 'src'), join(stage, 'cli')],
  };
}

interface Manifest {
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly bin: Readonly<Record<string, string>>;
}

/** Uses `default` instead of `import`, because drizzle-kit loads an app's tables with `require`. */
function manifest() {
  const {
    private: _,
    scripts: __,
    exports,
    bin,
    ...rest
  } = JSON.parse(readFileSync('engine/package.json', 'utf8')) as Manifest & { private: unknown; scripts: unknown };
  const built = (path: string) => {
    const file = path.replace(/^\.\//, './dist/').replace(/\.ts$/, '');
    return path.endsWith('.ts') ? { types: `${file}.d.ts`, default: `${file}.js` } : path;
  };
  return {
    ...rest,
    exports: Object.fromEntries(Object.entries(exports).map(([name, path]) => [name, built(path)])),
    bin: Object.fromEntries(Object.entries(bin).map(([name, path]) => [name, path.replace('./', './dist/')])),
  };
}

function run(program: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new UserError((stdout + stderr).trim());
}
