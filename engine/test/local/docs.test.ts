import { existsSync, globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { providers } from '../../src/providers/index.ts';
import { countProofs } from '../../workshop/proved-by.ts';

// The links, files and commands that pages name. What is in workshop/init is for forks, and what a blank form names is made up.
const pages = globSync(['*.md', 'docs/**/*.md', 'engine/{bench,workshop}/**/*.md'], {
  exclude: ['**/node_modules', 'engine/workshop/init', '**/000-template.md'],
});
const textOf = (path: string) => readFileSync(path, 'utf8');

describe.each(pages)('%s', (page) => {
  const text = textOf(page);
  const prose = text.replaceAll(/^ *```.*?^ *```$/gms, '');

  it('has only links that lead somewhere', () => {
    for (const [, target = ''] of prose.matchAll(/(?:\]\(|src="|srcset=")(?!https?:)([^)"]+)/g)) {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : posix.join(posix.dirname(page), path);
      expect(existsSync(file), target).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(textOf(file)), target).toContain(anchor);
    }
  });

  // The changelog names what is gone.
  if (page === 'CHANGELOG.md') return;

  it('names only files and folders that exist', () => {
    for (const [, path = ''] of prose.matchAll(
      /`((?:src|test|drizzle|docs|engine|scripts|workshop|bench)\/[\w/.-]+)`/g,
    )) {
      expect(existsSync(path), path).toBe(true);
    }
  });

  it('names only npm scripts that exist', () => {
    for (const [, inEngine, name = ''] of text.matchAll(/npm run (-w engine )?([a-z][\w:-]*)/g)) {
      expect(scriptsOf(inEngine ? 'engine/package.json' : 'package.json'), name).toContain(name);
    }
  });
});

it('every image is shown by a page', () => {
  const all = pages.map(textOf).join('\n');
  for (const path of globSync('docs/images/*')) expect(all).toContain(posix.basename(path));
});

it('the README is short, and says of the providers what is proved', () => {
  const readme = textOf('README.md');
  const { known, proved, tokens } = countProofs(Object.keys(providers));
  expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(9 * 1024);
  expect(readme).toContain(`**${known} known providers**`);
  expect(readme).toContain(
    `${proved} proved by others' vectors or SDKs, ${tokens} that send a token, ${known - proved - tokens} built from its documentation`,
  );
});

function scriptsOf(path: string): string[] {
  return Object.keys(JSON.parse(textOf(path)).scripts);
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
