import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import * as kit from '../../src/kit/index.ts';
import { providers } from '../../src/providers/index.ts';
import * as reconcile from '../../src/reconcile/index.ts';
import { buildFork, filesIn } from '../../workshop/init/fork.ts';
import { countProofs } from '../../workshop/proved-by.ts';

const git = (...args: string[]) => execFileSync('git', ['ls-files', '-z', ...args], { encoding: 'utf8' });
const tracked = git('--cached', '--others', '--exclude-standard').split('\0').filter(Boolean);
const deleted = new Set(git('--deleted').split('\0'));
const template = tracked.filter((path) => !deleted.has(path));

// With its source, so that the pages of the package are among its files.
const fork = mkdtempSync(join(tmpdir(), 'claimcheck-docs-'));
afterAll(() => rmSync(fork, { recursive: true }));
buildFork(fork, template, { name: 'acme', empty: false, source: true });

describe('the template', () => checkPages('.', template));
describe('a fork', () => checkPages(fork, filesIn(fork)));

/** The links, files and commands that the pages of a checkout name. */
function checkPages(folder: string, files: readonly string[]): void {
  const read = (path: string) => readFileSync(join(folder, path), 'utf8');
  // `engine/` is the package: what a page in it names is below it, and a fork finds it in node_modules. The package's pages are
  // those of the template.
  const inPackage = (path: string) =>
    path.replace(/^node_modules\/claimcheck\/docs/, 'docs').replace(/^node_modules\/claimcheck/, 'engine');
  const isThere = (path: string) => files.some((file) => file === path || file.startsWith(`${path}/`));
  const scriptsOf = (path: string) => Object.keys(JSON.parse(read(path)).scripts ?? {});
  // Pages in engine/workshop/init are for forks. What a blank form names is made up.
  const pages = files.filter(
    (path) =>
      path.endsWith('.md') &&
      !/^engine\/workshop\/init\/|^\.github\/|000-template|CHANGELOG|^engine\/README/.test(path),
  );

  describe.each(pages)('%s', (page) => {
    const text = read(page);
    const prose = text.replaceAll(/^ *```.*?^ *```$/gms, '');

    it('has only links that lead somewhere', () => {
      for (const [, target = ''] of prose.matchAll(/(?:\]\(|src="|srcset=")(?!https?:)([^)"]+)/g)) {
        const [path = '', anchor] = target.split('#');
        const file = path === '' ? page : posix.join(posix.dirname(page), path);
        expect(isThere(file.replace(/\/$/, '')), target).toBe(true);
        if (anchor !== undefined) expect(anchorsOf(read(file)), target).toContain(anchor);
      }
    });

    it('names only files and folders that exist', () => {
      const paths = /`((?:test|src|engine|cli|docs|drizzle|node_modules\/claimcheck)\/(?!.*node_modules)[\w/.-]+)`/g;
      for (const [, path = ''] of prose.matchAll(paths)) {
        const named = inPackage(path).replace(/\/$/, '');
        // The docs are packed with the engine.
        const isPacked = isThere(`engine/${named}`) || isThere(named.replace(/^engine\//, ''));
        expect(isThere(named) || isPacked, path).toBe(true);
      }
    });

    it('names only npm scripts that exist', () => {
      for (const [, inEngine, name = ''] of text.matchAll(/npm run (-w engine )?([a-z][\w:-]*)/g)) {
        // Pages of the package also speak of the template's own commands.
        const own = inEngine ? 'engine/package.json' : 'package.json';
        const names = page.startsWith('engine/') ? [...scriptsOf(own), 'init'] : scriptsOf(own);
        expect(names, name).toContain(name);
      }
    });
  });

  it('every image is shown by a page', () => {
    const all = files
      .filter((path) => path.endsWith('.md'))
      .map(read)
      .join('\n');
    for (const path of files) if (path.includes('docs/images/')) expect(all).toContain(posix.basename(path));
  });
}

it('docs/README.md links to every page', () => {
  const index = readFileSync('docs/README.md', 'utf8');
  const pages = template.filter((path) => /^docs\/(?!README)[^/]+\.(md|json)$/.test(path));
  for (const page of pages) expect(index).toMatch(new RegExp(`\\(${posix.basename(page)}[)#]`));
});

it('docs/api.md has a section for every function and class that an app imports', () => {
  const sections = readFileSync('docs/api.md', 'utf8').matchAll(/^### (\w+)$/gm);
  const described = new Set(Array.from(sections, ([, name]) => name));
  for (const name of [...Object.keys(kit), ...Object.keys(reconcile)]) expect(described).toContain(name);
});

it('the README is short, and says of the providers what is proved', () => {
  const readme = readFileSync('README.md', 'utf8');
  const { known, proved, tokens } = countProofs(Object.keys(providers));
  expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(9 * 1024);
  expect(readme).toContain(`**${known} known providers**`);
  expect(readme).toContain(
    `${proved} proved by others' vectors or SDKs, ${tokens} that send a token, ${known - proved - tokens} built from its documentation`,
  );
});

/** As GitHub makes them of headings. */
function anchorsOf(text: string): string[] {
  return Array.from(text.matchAll(/^#+ (.*)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Number}\p{Mark} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
