import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UserError } from './user-error.ts';

const ENGINE = {
  'src/kit': 'all',
  'src/verify': 'all',
  'src/queue': 'all',
  'src/db': 'all',
  'src/shared': 'all',
  'src/providers': 'types',
} as const;

/**
 * What the files of a folder may import from this repository, besides their own folder. `types` allows only types, so
 * that none of that folder's code gets into a Worker that doesn't need it. If several entries match a file, the longest
 * decides.
 */
const ALLOWED: Readonly<Record<string, Readonly<Record<string, 'all' | 'types'>>>> = {
  'src/app': { 'src/kit': 'all', 'src/providers': 'all' },
  // `defineProvider` is a function, and users describe providers of their own with it.
  'src/kit': { 'src/db': 'types', 'src/providers': 'types', 'src/providers/define.ts': 'all' },
  'src/providers': { 'src/shared': 'all' },
  'src/verify': { 'src/providers': 'types', 'src/shared': 'all' },
  'src/shared': {},
  'src/db': { 'src/shared': 'all' },
  'src/queue': { 'src/db': 'types', 'src/db/keys.ts': 'all', 'src/shared': 'all' },
  'src/receiver': ENGINE,
  'src/consumer': ENGINE,
  'src/ops': ENGINE,
  // The three places where a Worker and your app are put together. Only the consumer takes your handlers: none of them
  // can break what answers a request.
  'src/receiver/index.ts': { ...ENGINE, 'src/receiver': 'all', 'src/app/sources.ts': 'all' },
  'src/ops/index.ts': { ...ENGINE, 'src/ops': 'all', 'src/app/sources.ts': 'all' },
  'src/consumer/index.ts': { ...ENGINE, 'src/consumer': 'all', 'src/app': 'all' },
  scripts: { src: 'all', 'drizzle.config.ts': 'all' },
  'test/app': { src: 'all', 'test/kit.ts': 'all' },
  'test/kit.ts': { src: 'all', scripts: 'all' },
  'test/setup.ts': { src: 'all', scripts: 'all' },
};

/** Packages that a folder must not import. */
const FORBIDDEN: Readonly<Record<string, readonly string[]>> = { 'src/consumer': ['hono'] };

export interface Import {
  readonly from: string;
  /** A path in this repository, or the name of a package. */
  readonly to: string;
  readonly isPackage: boolean;
  readonly typesOnly: boolean;
}

/** One sentence for each import that points the wrong way. */
export function wrongImports(imports: readonly Import[]): string[] {
  return imports
    .filter((one) => !isAllowed(one))
    .map((one) => {
      const types = !one.typesOnly && isAllowed({ ...one, typesOnly: true });
      return `${one.from} must not import ${one.to}${types ? ', except types' : ''}`;
    });
}

function isAllowed({ from, to, isPackage, typesOnly }: Import): boolean {
  const folder = longestMatch(Object.keys(ALLOWED), from);
  const packages = FORBIDDEN[longestMatch(Object.keys(FORBIDDEN), from) ?? ''] ?? [];
  if (isPackage) return !packages.some((name) => isIn(to, name));
  if (folder === undefined) return false;
  if (isIn(to, folder)) return true;
  const allowed = ALLOWED[folder] ?? {};
  const target = longestMatch(Object.keys(allowed), to);
  return target !== undefined && (allowed[target] === 'all' || typesOnly);
}

function longestMatch(names: readonly string[], path: string): string | undefined {
  return names.filter((name) => isIn(path, name)).sort((a, b) => b.length - a.length)[0];
}

function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

const STATEMENT = /^(?:import|export)\b(?:([^'";]*?)\bfrom\s+)?\s*['"]([^'"]+)['"]/gm;
const CALL = /\bimport\(\s*['"]([^'"]+)['"]/g;

/** The imports of a file. `aliases` are package.json's "imports". */
export function importsOf(from: string, text: string, aliases: Readonly<Record<string, string>>): Import[] {
  const resolve = (name: string) => {
    const path = name.startsWith('.') ? join(dirname(from), name) : unalias(name, aliases);
    return { from, to: path ?? name, isPackage: path === undefined };
  };
  const statements = Array.from(text.matchAll(STATEMENT), ([, names = '', to = '']) => ({
    ...resolve(to),
    typesOnly: importsOnlyTypes(names),
  }));
  const calls = Array.from(text.matchAll(CALL), ([, to = '']) => ({ ...resolve(to), typesOnly: false }));
  return [...statements, ...calls];
}

/** `type { A }`, or `{ type A, type B }`. */
function importsOnlyTypes(names: string): boolean {
  if (/^\s*type\b/.test(names)) return true;
  const listed = /^\s*\{(.*)\}\s*$/s
    .exec(names)?.[1]
    ?.split(',')
    .filter((name) => name.trim() !== '');
  return listed?.every((name) => /^\s*type\s/.test(name)) ?? false;
}

function unalias(name: string, aliases: Readonly<Record<string, string>>): string | undefined {
  for (const [alias, path] of Object.entries(aliases)) {
    const [before = '', after] = alias.split('*');
    if (after === undefined ? name === alias : name.startsWith(before)) {
      return join('.', path.replace('*', name.slice(before.length)));
    }
  }
  return undefined;
}

/** Fails if a file imports what it must not. */
export function checkImports(): void {
  const { imports } = JSON.parse(readFileSync('package.json', 'utf8')) as { imports: Record<string, string> };
  const files = globSync(['src/**/*.{ts,tsx}', 'scripts/**/*.{ts,mjs}', 'test/{kit,setup,app/**/*}.ts']);
  const wrong = wrongImports(files.flatMap((file) => importsOf(file, readFileSync(file, 'utf8'), imports)));
  if (wrong.length > 0) throw new UserError(wrong.join('\n'));
}
