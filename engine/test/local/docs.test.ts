import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Files, forkOf, readJson } from '../../cli/lib/fork-files.ts';
import { providers } from '../../src/providers/index.ts';
import { readFolder } from '../../workshop/init/files.ts';
import { countProofs } from '../../workshop/proofs/proof-of.ts';

const template = readFolder();
const fork = forkOf(template, 'acme').files;

describe('the template', () => checkPages(template));
describe('a fork', () => checkPages(fork));

/** The links, files and commands that the pages of a checkout name. */
function checkPages(files: Files): void {
  const has = (path: string) => files.has(path) || [...files.keys()].some((file) => file.startsWith(`${path}/`));
  const scriptsOf = (path: string) => Object.keys(readJson<{ scripts?: object }>(files, path)?.scripts ?? {});
  // Pages in engine/workshop/init are for forks. What a blank form names is made up.
  const pages = [...files.keys()].filter(
    (path) => path.endsWith('.md') && !/^workshop\/init\/|^\.github\/|000-template/.test(path),
  );

  describe.each(pages)('%s', (page) => {
    const text = textOf(files, page);
    const prose = text.replaceAll(/^ *```.*?^ *```$/gms, '');

    it('has only links that lead somewhere', () => {
      for (const [, target = ''] of prose.matchAll(/(?:\]\(|src="|srcset=")(?!https?:)([^)"]+)/g)) {
        const [path = '', anchor] = target.split('#');
        const file = path === '' ? page : posix.join(posix.dirname(page), path);
        expect(has(file), target).toBe(true);
        if (anchor !== undefined) expect(anchorsOf(textOf(files, file)), target).toContain(anchor);
      }
    });

    it('names only files and folders that exist', () => {
      for (const [, path = ''] of prose.matchAll(/`((?:test|src|scripts|workshop|bench|docs|drizzle)\/[\w/.-]+)`/g)) {
        expect(has(path.replace(/\/$/, '')), path).toBe(true);
      }
    });

    it('names only npm scripts that exist', () => {
      for (const [, inWorkshop, name = ''] of text.matchAll(/npm run (-w workshop )?([a-z][\w:-]*)/g)) {
        expect(scriptsOf(inWorkshop ? 'engine/workshop/package.json' : 'package.json'), name).toContain(name);
      }
    });
  });

  it('every image is shown by a page', () => {
    const all = pages.map((page) => textOf(files, page)).join('\n');
    for (const path of files.keys()) if (path.startsWith('docs/images/')) expect(all).toContain(posix.basename(path));
  });
}

it('the README is short, and says of the providers what is proved', () => {
  const readme = textOf(template, 'README.md');
  const { known, proved, tokens } = countProofs(Object.keys(providers));
  expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(9 * 1024);
  expect(readme).toContain(`**${known} known providers**`);
  expect(readme).toContain(
    `${proved} proved by others' vectors or SDKs, ${tokens} that send a token, ${known - proved - tokens} built from its documentation`,
  );
});

function textOf(files: Files, path: string): string {
  return files.get(path)?.bytes.toString() ?? '';
}

/** As GitHub makes them of headings. */
function anchorsOf(text: string): string[] {
  return Array.from(text.matchAll(/^#+ (.*)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Number}\p{Mark} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
