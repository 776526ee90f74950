import { readFileSync, writeFileSync } from 'node:fs';
import { UserError } from '../cli/lib/user-error.ts';

/** A part of a page, between two comments, that a command writes. The rest is written by hand. */
export interface Section {
  readonly page: string;
  readonly name: string;
  /** The command that writes the section. */
  readonly command: string;
}

/** Replaces a section. Throws if the page doesn't have it, because its figures would be lost. */
export function writeSection(section: Section, lines: readonly string[]): void {
  const text = readFileSync(section.page, 'utf8');
  const begin = beginOf(section);
  const end = `<!-- /${section.name} -->`;
  const [before = '', rest] = text.split(begin);
  const after = rest?.slice(rest.indexOf(end) + end.length);
  if (after === undefined || !rest?.includes(end)) {
    throw new UserError(`${section.page} has no section for these figures: it needs the lines ${begin} and ${end}`);
  }
  writeFileSync(section.page, `${before}${begin}\n${lines.join('\n')}\n${end}${after}`);
}

/** The names of all sections of a page that a command writes. */
export function sectionsOf({ page, command }: Omit<Section, 'name'>): string[] {
  const lines = readFileSync(page, 'utf8').split('\n');
  const isBegin = (line: string) => line.startsWith('<!-- ') && line.endsWith(`: written by ${command} -->`);
  return lines.filter(isBegin).map((line) => line.slice('<!-- '.length, line.indexOf(': written by')));
}

function beginOf({ name, command }: Section): string {
  return `<!-- ${name}: written by ${command} -->`;
}

/** The current lines of a section. */
export function sectionLines(section: Section): string[] {
  const [, rest = ''] = readFileSync(section.page, 'utf8').split(`${beginOf(section)}\n`);
  return rest.slice(0, rest.indexOf(`\n<!-- /${section.name} -->`)).split('\n');
}
