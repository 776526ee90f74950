import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIGS } from '../../cli/config/worker-config.ts';
import { type File, type Files, forkOf, readJson } from '../../cli/lib/fork-files.ts';
import { UserError } from '../../cli/lib/user-error.ts';
import { read } from './replace.ts';

export interface ForkOptions {
  readonly name: string;
  /** Without the sample app. */
  readonly empty: boolean;
  /** Of the template. `undefined` if it is not known. */
  readonly commit: string | undefined;
  /** With Node as a package of the project. */
  readonly withNode: boolean;
}

interface Package {
  readonly version: string;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
}

/** In here, the files of the app of `--empty`. */
const EMPTY = 'engine/workshop/init/empty/';

/** create-cloudflare writes wrangler.toml anew, without its comments, and with a flag that the receiver doesn't need. */
const REWRITTEN = '#:schema ';
const INTACT = 'engine/workshop/init/wrangler.toml';

/** The files of a fork, except those that tools write: package-lock.json and the generated types are the template's. */
export function filesOf(template: Files, { name, empty, commit, withNode }: ForkOptions): Files {
  const files = new Map(forkOf(intact(template), name).files);
  const edit = (path: string, pattern: RegExp, replacement: string) => {
    const { mode, bytes } = files.get(path) ?? { mode: '', bytes: Buffer.alloc(0) };
    const text = bytes.toString();
    if (!pattern.test(text)) throw new UserError(`${path} is not as the template has it: ${pattern} is not in it`);
    files.set(path, { mode, bytes: Buffer.from(text.replace(pattern, replacement)) });
  };
  if (empty) {
    for (const path of files.keys()) if (/^(src\/app|test\/app|drizzle\/app)\//.test(path)) files.delete(path);
    for (const [path, file] of template) if (path.startsWith(EMPTY)) files.set(path.slice(EMPTY.length), file);
    edit(CONFIGS.receiver, /required = \[[^\]]*\]/, 'required = ["DATABASE_URL", "ORDERS_WEBHOOK_SECRET"]');
    edit(CONFIGS.consumer, /# The sample app:.*\n(\w+_URL = .*\n)+\n/, '');
  }

  const { version, devDependencies, allowScripts } = readJson<Package>(template, 'package.json');
  const own = readJson<Package>(files, 'package.json');
  const node = withNode
    ? {
        devDependencies: sorted({ ...own.devDependencies, node: devDependencies.node }),
        allowScripts: { node: allowScripts.node, ...own.allowScripts },
      }
    : {};
  const value = { ...own, ...node, claimcheck: { version, commit: commit ?? null } };
  return files.set('package.json', { mode: '100644', bytes: Buffer.from(`${JSON.stringify(value, null, 2)}\n`) });
}

function intact(template: Files): Files {
  const file = template.get(INTACT);
  const isRewritten = template.get(CONFIGS.receiver)?.bytes.toString().startsWith(REWRITTEN);
  return isRewritten && file ? new Map(template).set(CONFIGS.receiver, file) : template;
}

function sorted<Value>(record: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** What .gitignore names. */
const IGNORED = /^(node_modules|\.git|\.wrangler|\.data|\.dev\.vars(?!\.example$).*)$/;

/** All files below a folder that git would know. */
export function readFolder(folder = '.'): Files {
  const files = new Map<string, File>();
  const visit = (path: string) => {
    for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
      if (IGNORED.test(entry.name)) continue;
      const child = path === '' ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory()) visit(child);
      else files.set(child, read(join(folder, child)));
    }
  };
  visit('');
  return files;
}
