/** What `npm audit --json` found. */
export type Audit =
  | { readonly outcome: 'clean' }
  /** One line for each package with a known vulnerability. */
  | { readonly outcome: 'vulnerable'; readonly lines: readonly string[] }
  /** The registry has no audits, or could not be reached. Then nothing is known. */
  | { readonly outcome: 'not_checked'; readonly reason: string };

interface Report {
  readonly message?: string;
  readonly error?: { readonly summary?: string };
  readonly vulnerabilities?: Readonly<
    Record<string, { readonly severity: string; readonly via: readonly (string | { readonly url?: string })[] }>
  >;
}

export function readAudit(json: string): Audit {
  const report = parsed(json);
  if (report?.vulnerabilities === undefined) {
    return { outcome: 'not_checked', reason: report?.message ?? report?.error?.summary ?? 'npm audit wrote no report' };
  }
  const lines = Object.entries(report.vulnerabilities).map(([name, { severity, via }]) => {
    const causes = via.map((cause) => (typeof cause === 'string' ? cause : (cause.url ?? 'no address')));
    return `${name}: ${severity} (${causes.join(', ')})`;
  });
  return lines.length === 0 ? { outcome: 'clean' } : { outcome: 'vulnerable', lines };
}

function parsed(json: string): Report | undefined {
  try {
    return JSON.parse(json) as Report;
  } catch {
    return undefined;
  }
}
