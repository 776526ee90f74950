import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { readArguments } from '../cli/lib/arguments.ts';
import { UserError } from '../cli/lib/user-error.ts';
import { type Section, sectionLines, writeSection } from './page-section.ts';

/** Writes a page that is made from the code. With --check it writes nothing, and fails if the page is out of date. */
export function writePage(page: string, text: string, script: string): void {
  const isCurrent = existsSync(page) && readFileSync(page, 'utf8') === text;
  finish(page, script, isCurrent, () => writeFileSync(page, text));
}

/** The same for sections of a page. */
export function writeSections(sections: readonly (Section & { readonly lines: readonly string[] })[], script: string) {
  const stale = sections.filter((section) => sectionLines(section).join('\n') !== section.lines.join('\n'));
  finish(sections[0]?.page ?? '', script, stale.length === 0, () => {
    for (const section of stale) writeSection(section, section.lines);
  });
}

function finish(page: string, script: string, isCurrent: boolean, write: () => void): void {
  const { values } = readArguments({ options: { check: { type: 'boolean', default: false } } });
  if (!values.check) {
    write();
    console.log(`wrote ${page}`);
  } else if (isCurrent) {
    console.log(`${page} is up to date`);
  } else {
    throw new UserError(`${page} is out of date: run npm run -w engine ${script} and commit the file`);
  }
}

/** A table in Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}

/** The command in the comments around a section that is made from the code: a fork has the page, but not the command. */
export const WORKSHOP = "the template's workshop";
