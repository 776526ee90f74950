/** A metric in the text format of Prometheus, version 0.0.4. */
export interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly samples: readonly {
    /** A histogram has samples of several names. */
    readonly suffix?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly value: number;
  }[];
}

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Metrics without samples are left out. */
export function exposition(metrics: readonly Metric[]): string {
  const lines = metrics
    .filter(({ samples }) => samples.length > 0)
    .flatMap(({ name, type, help, samples }) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${type}`,
      ...samples.map(({ suffix = '', labels = {}, value }) => `${name}${suffix}${labelText(labels)} ${value}`),
    ]);
  return lines.map((line) => `${line}\n`).join('');
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
}

/** The format knows these three escapes and no others. */
function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
