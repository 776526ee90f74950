import { spawnSync } from 'node:child_process';
import { readArguments } from '../cli/lib/arguments.ts';
import { UserError } from '../cli/lib/user-error.ts';

/** What `npm audit --json` writes, as far as it is read here. */
interface Report {
  readonly message?: string;
  readonly error?: { readonly summary?: string };
  readonly vulnerabilities?: Readonly<
    Record<string, { readonly severity: string; readonly via: readonly (string | { readonly url?: string })[] }>
  >;
}

/** Whether a package that is deployed has a known vulnerability. Packages that only develop and test are left out. */
export default async function main(): Promise<void> {
  readArguments({});
  const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], { encoding: 'utf8' });
  const report = parse(stdout ?? '');
  if (report?.vulnerabilities === undefined) {
    const reason = report?.message ?? report?.error?.summary ?? 'npm audit wrote no report';
    // Some registries have no audits. That must not stop everything else, and must not look like a good result.
    return console.log(`audit: NOT CHECKED, because the registry gave no answer (${reason})`);
  }
  const lines = Object.entries(report.vulnerabilities).map(([name, { severity, via }]) => {
    const causes = via.map((cause) => (typeof cause === 'string' ? cause : (cause.url ?? 'no address')));
    return `${name}: ${severity} (${causes.join(', ')})`;
  });
  if (lines.length > 0) throw new UserError(lines.join('\n'));
  console.log('audit: no package that is deployed has a known vulnerability');
}

function parse(json: string): Report | undefined {
  try {
    return JSON.parse(json) as Report;
  } catch {
    return undefined;
  }
}
