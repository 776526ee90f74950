import { spawnSync } from 'node:child_process';
import { readAudit } from './local/advisories.ts';
import { readArguments } from './local/arguments.ts';
import { UserError } from './local/user-error.ts';

/** Whether a package that is deployed has a known vulnerability. Packages that only develop and test are left out. */
export default async function main(): Promise<void> {
  readArguments({});
  const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], { encoding: 'utf8' });
  const audit = readAudit(stdout ?? '');
  switch (audit.outcome) {
    case 'clean':
      return console.log('audit: no package that is deployed has a known vulnerability');
    case 'not_checked':
      // Some registries have no audits. That must not stop everything else, and must not look like a good result.
      return console.log(`audit: NOT CHECKED, because the registry gave no answer (${audit.reason})`);
    case 'vulnerable':
      throw new UserError(audit.lines.join('\n'));
  }
}
