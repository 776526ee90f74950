import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENGINE } from '../lib/engine.ts';

/** Exists only in the package and with `--source`. The template itself has nothing to confirm. */
const CHANGELOG = join(ENGINE, 'CHANGELOG.md');

/**
 * What the changelog asks a fork's owner to do, from the version that they have confirmed in package.json to the
 * installed one. Undefined in the template.
 */
export function unconfirmedNotes(): string | undefined {
  if (!existsSync(CHANGELOG)) return undefined;
  const { version } = JSON.parse(readFileSync(join(ENGINE, 'package.json'), 'utf8'));
  const { claimcheck } = JSON.parse(readFileSync('package.json', 'utf8'));
  const notes = mustDoBetween(claimcheck?.checked ?? '0', version, readFileSync(CHANGELOG, 'utf8'));
  return (
    notes && `${notes}\n\nWhen this is done, confirm it in package.json: "claimcheck": { "checked": "${version}" }`
  );
}

/** The `### You must do` sections of the released versions after `from` up to `to`, oldest first. */
export function mustDoBetween(from: string, to: string, changelog: string): string {
  return changelog
    .replaceAll(/^\[[^\]]+\]: .*$/gm, '')
    .split(/^## /m)
    .flatMap((section) => {
      const number = /^\[(\d+\.\d+\.\d+)\]/.exec(section)?.[1];
      const mustDo = section
        .split(/^### You must do$/m)[1]
        ?.split(/^### /m, 1)[0]
        ?.trim();
      if (!number || !mustDo || compareVersions(number, from) <= 0 || compareVersions(number, to) > 0) return [];
      return [`${number}\n${mustDo}`];
    })
    .reverse()
    .join('\n\n');
}

/** Compared as numbers, because as text 0.10.0 comes before 0.9.0. */
function compareVersions(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}
