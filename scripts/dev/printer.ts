import type { LogLine } from '../../src/shared/log.ts';
import { WORKERS, type WorkerKind } from '../config/worker-config.ts';
import { type Bundle, mapPosition, ownFrames, readDevBundle } from '../lib/positions.ts';
import type { OutsideRequest } from '../local/outside.ts';
import { devFolder } from '../local/worker-copies.ts';
import type { LocalEvents } from './local-events.ts';
import { readable } from './log-lines.ts';
import type { Printed } from './wrangler-output.ts';

export interface PrinterOptions {
  readonly events: Pick<LocalEvents, 'detailsOf'>;
  /** The log lines as they are. */
  readonly json: boolean;
  readonly say: (text: string) => void;
}

/** Prints what happens, one line for each step of an event's path, in the order in which it happened. */
export function createPrinter({ events, json, say }: PrinterOptions) {
  let last: Promise<void> = Promise.resolve();
  const inOrder = (print: () => Promise<void>) => {
    last = last.then(print).catch((error) => console.error(error));
  };
  // Read when the Workers have started: after a build that fails there is none, and the former code still runs.
  const bundles = new Map<WorkerKind, Bundle | undefined>();
  const textOf = async (line: LogLine, worker: WorkerKind) => {
    const details = await events.detailsOf(line).catch(() => ({}));
    const position = typeof line.position === 'string' ? line.position : undefined;
    const frames = position === undefined ? [] : ownFrames(mapPosition(position, bundles.get(worker)));
    const remedy = await remedyFor(line);
    return readable(line, { ...details, frames, remedy });
  };
  return {
    /** To be called whenever new code runs. */
    readBundles(): void {
      for (const worker of WORKERS) bundles.set(worker, readDevBundle(devFolder(worker)));
    },
    worker(printed: Exclude<Printed, { kind: 'reloaded' }>): void {
      inOrder(async () => {
        if (printed.kind === 'text') return say(printed.text);
        if (json) return console.log(printed.raw);
        const text = await textOf(printed.line, printed.worker);
        if (text !== undefined) say(text);
      });
    },
    outside({ method, path, idempotencyKey }: OutsideRequest): void {
      const key = idempotencyKey ? `  idempotency key ${idempotencyKey.slice(0, 12)}…` : '';
      inOrder(async () => say(`outside        ${method} ${path}${key}`));
    },
  };
}

/** How the log says that Postgres misses a table or a column. */
const TABLES_OUT_OF_DATE = /SQLSTATE (42P01|42703)/;

/** dev has applied all migrations, so what is missing has none yet. */
async function remedyFor({ reason }: LogLine): Promise<string | undefined> {
  if (typeof reason !== 'string' || !TABLES_OUT_OF_DATE.test(reason)) return undefined;
  // It takes most of a second to load.
  const { unmigrated } = await import('../database/schema-changes.ts');
  return unmigrated();
}
