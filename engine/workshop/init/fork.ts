import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIGS } from '../../cli/config/worker-config.ts';
import { UserError } from '../../cli/lib/user-error.ts';
import { addTexts, pack } from '../pack.ts';

export interface ForkOptions {
  readonly name: string;
  /** Without the sample app. */
  readonly empty: boolean;
  /** With the engine's TypeScript instead of the package. */
  readonly source: boolean;
}

/** Files that a fork doesn't get: it has its own pages and workflows, and the package contains the docs. */
const FOR_MAKERS = /^(engine|docs|\.ci|\.github)\/|^(CHANGELOG|CONTRIBUTING)\.md$/;
/** The files that `--source` keeps. */
const SOURCE = /^engine\/(src|cli|drizzle)\/(?!.*\.proof\.ts$)|^engine\/(drizzle\.config\.ts|package\.json)$/;
/** The entries of the Workers are the same in every app. */
const SAMPLE_APP = /^(src|test|drizzle)\/(?!(receiver|consumer|ops)\.ts$)/;

/** The folder with a fork's pages and workflows, and with the app of `--empty`. */
const INIT = 'engine/workshop/init';

/** Writes a fork into a folder. package-lock.json and the generated types are still the template's. */
export function buildFork(folder: string, tracked: readonly string[], { name, empty, source }: ForkOptions): void {
  const copy = (path: string, from = '.') => cpSync(join(from, path), join(folder, path));
  for (const path of tracked) {
    const isSample = empty && SAMPLE_APP.test(path);
    if (source && SOURCE.test(path)) copy(path);
    else if (!FOR_MAKERS.test(path) && !isSample) copy(path);
  }
  for (const part of [`${INIT}/fork`, ...(empty ? [`${INIT}/empty`] : [])]) {
    for (const path of tracked) if (path.startsWith(`${part}/`)) copy(path.slice(part.length + 1), part);
  }

  const edit = (path: string, pattern: RegExp | string, replacement: string) => {
    const text = readFileSync(join(folder, path), 'utf8');
    const edited = text.replace(pattern, replacement);
    if (edited === text) throw new UserError(`${path} differs from the template: ${pattern} is not in it`);
    writeFileSync(join(folder, path), edited);
  };
  for (const path of Object.values(CONFIGS)) edit(path, /"claimcheck-/g, `"${name}-`);
  if (empty) {
    edit(CONFIGS.receiver, /required = \[[^\]]*\]/, 'required = ["DATABASE_URL", "ORDERS_WEBHOOK_SECRET"]');
    edit(CONFIGS.consumer, /# The sample app:.*\n(\w+_URL = .*\n)+\n/, '');
  }
  edit('src/ops.ts', 'ops({ sources })', `ops({ sources, name: '${name}' })`);
  edit('README.md', /\{name\}/g, name);
  edit('.gitattributes', /^docs\/.*\n/m, '');
  for (const path of filesIn(folder).filter((path) => !path.startsWith('engine/'))) pointToDocs(join(folder, path));

  const { version } = readJson('engine/package.json');
  const own = readJson('package.json');
  const { workspaces, description: _, ...rest } = own;
  const { init: __, ...scripts } = own.scripts;
  writeJson(join(folder, 'package.json'), {
    ...rest,
    name,
    ...(source ? { workspaces } : {}),
    claimcheck: { checked: version },
    scripts: { ...scripts, test: 'vitest run', check: 'claimcheck check' },
    dependencies: {
      ...own.dependencies,
      claimcheck: source ? version : `file:vendor/claimcheck-${version}.tgz`,
    },
  });
  if (source) addSource(folder);
  else pack(join(folder, 'vendor'));
}

/** Adds the engine as a workspace, with the texts that the package contains. */
function addSource(folder: string): void {
  const engine = join(folder, 'engine');
  addTexts(engine);
  const { scripts: _, ...rest } = readJson('engine/package.json');
  writeJson(join(engine, 'package.json'), rest);
  const tsconfig = '{\n  "extends": "../tsconfig.json",\n  "include": ["src", "cli", "*.ts"]\n}\n';
  writeFileSync(join(engine, 'tsconfig.json'), tsconfig);
}

/** Changes references to docs, which are in the package. */
function pointToDocs(file: string): void {
  const text = readFileSync(file, 'utf8');
  const pointed = text.replaceAll(/(?<![\w./-])docs\/(?=\w)/g, 'node_modules/claimcheck/docs/');
  if (pointed !== text) writeFileSync(file, pointed);
}

export function filesIn(folder: string): readonly string[] {
  return globSync(['**', '**/.*', '**/.*/**'], { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    );
}

interface Package {
  readonly version: string;
  readonly workspaces: readonly string[];
  readonly description: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

function readJson(file: string): Package {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function writeJson(file: string, value: object): void {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}
