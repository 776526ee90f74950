import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { sectionLines, sectionsOf, writeSection } from '../../workshop/page-section.ts';

const folder = mkdtempSync(join(tmpdir(), 'page-'));
afterAll(() => rmSync(folder, { recursive: true }));

const page = join(folder, 'page.md');
const command = 'npm run it';
const text = (figures: string) => `# Page

<!-- first: written by npm run it -->
${figures}
<!-- /first -->
By hand.
<!-- second: written by npm run it -->
as it was
<!-- /second -->
<!-- third: written by npm run another -->
<!-- /third -->
`;

it('a section of a page is replaced and read, and nothing else of the page; one that it does not have is an error', () => {
  writeFileSync(page, text('old\nfigures'));
  writeSection({ page, name: 'first', command }, ['| new |', '', 'figures']);
  expect(() => writeSection({ page, name: 'third', command }, ['new'])).toThrow(
    'it needs the lines <!-- third: written by npm run it --> and <!-- /third -->',
  );
  expect(readFileSync(page, 'utf8')).toBe(text('| new |\n\nfigures'));
  expect(sectionsOf({ page, command })).toEqual(['first', 'second']);
  expect(sectionLines({ page, name: 'first', command })).toEqual(['| new |', '', 'figures']);
  expect(sectionLines({ page, name: 'second', command })).toEqual(['as it was']);
});
