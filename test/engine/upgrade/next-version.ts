import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The made-up version: above every real one. */
export const NEXT = '99.0.0';
/** What the engine's new migration makes. */
export const NEW_COLUMN = { table: 'alerts', column: 'note' };

/**
 * Makes of a checkout of the template a version that doesn't exist: what an upgrade has to do with each kind of change. The
 * code still passes its checks, because `.ci/upgrade.ts` runs a fork of it.
 */
export function makeNextVersion(folder: string, { version, commit }: { version: string; commit: string }): void {
  const edit = (path: string, change: (text: string) => string) => {
    const before = readFileSync(join(folder, path), 'utf8');
    const after = change(before);
    if (after === before) throw new Error(`${path} is not as it was: the made-up version changes nothing in it`);
    writeFileSync(join(folder, path), after);
  };
  const add = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };

  edit('src/shared/text.ts', (text) => `// Next: the first line.\n${text}\n// Next: the last line.\n`);
  chmodSync(join(folder, 'src/shared/text.ts'), 0o755);
  edit('src/shared/memoize.ts', (text) => `// Next.\n${text}`);
  edit('src/shared/problem.ts', (text) => text.replace('RFC 9457.', 'RFC 9457, as in the next version.'));
  edit('docs/console.md', (text) => `${text}\nNext: the Worker \`claimcheck-ops\` has a page more.\n`);
  edit('wrangler.consumer.toml', (text) => text.replace('BODY_DAYS = 7', 'BODY_DAYS = 5'));
  rmSync(join(folder, 'docs/alerts.md'));
  add('src/shared/next.ts', 'export const NEXT = true;\n');
  add('scripts/lib/next.sh', '#!/bin/sh\necho next\n');
  chmodSync(join(folder, 'scripts/lib/next.sh'), 0o755);
  add('bench/next.ts', 'export const BENCH = true;\n');

  const { table, column } = NEW_COLUMN;
  add('drizzle/engine/9999_next.sql', `ALTER TABLE "webhooks"."${table}" ADD COLUMN "${column}" text;`);
  edit('drizzle/engine/meta/_journal.json', (text) => {
    const journal = JSON.parse(text);
    const { when } = journal.entries.at(-1);
    // As soon after the engine's newest one as can be: long before a fork's own.
    journal.entries.push({
      idx: journal.entries.length,
      version: '7',
      when: when + 1,
      tag: '9999_next',
      breakpoints: true,
    });
    return JSON.stringify(journal, null, 2);
  });
  edit('package.json', (text) => {
    const value = JSON.parse(text);
    value.scripts.next = 'node --version';
    // npm install has something to do, and needs no network for it.
    value.allowScripts['a-package-that-is-not-there'] = false;
    return `${JSON.stringify({ ...value, version: NEXT }, null, 2)}\n`;
  });
  edit('CHANGELOG.md', (text) => {
    const section = [
      `## [${NEXT}] - 2027-01-15`,
      'A made-up version.',
      '### You must do',
      'Set `BODY_DAYS` to 5.',
      '### Added',
    ];
    // The version before is a commit that has no tag.
    return `${text.replace(/^## \[/m, `${section.join('\n\n')}\n\n## [`)}\n[${version}]: ../../commit/${commit}\n`;
  });
}
