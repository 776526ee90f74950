import type { LogLine } from '../../src/shared/log.ts';
import type { WorkerKind } from '../config/worker-config.ts';

export type Printed =
  /** A line of a Worker's log. */
  | { kind: 'log'; worker: WorkerKind; line: LogLine; raw: string }
  /** What a handler or an effect has printed itself. */
  | { kind: 'text'; text: string }
  /** The Workers run with the new code or configuration. */
  | { kind: 'reloaded' };

/** How wrangler begins its own lines. All it says there is known to `npm run dev`: bindings, requests, its state. */
const WRANGLERS_OWN =
  /^(\[wrangler[:\]]|⎔ |Using secrets |Using vars |Your Worker has access |\S+ has access to the following bindings)/;

/** Sorts what wrangler prints on its standard output, line by line. Errors and warnings are on its standard error. */
export function createSorter(names: ReadonlyMap<WorkerKind, string>): (line: string) => Printed | undefined {
  const prefixes = Array.from(names, ([worker, name]) => ({ worker, prefix: `[${name}] ` }));
  // A text of several lines has the Worker's name only on the first.
  let inText = false;
  return (line) => {
    const found = prefixes.find(({ prefix }) => line.startsWith(prefix));
    if (found) {
      const raw = line.slice(found.prefix.length);
      const parsed = readLogLine(raw);
      inText = parsed === undefined;
      return parsed ? { kind: 'log', worker: found.worker, line: parsed, raw } : { kind: 'text', text: raw };
    }
    if (inText && !WRANGLERS_OWN.test(line)) return { kind: 'text', text: line };
    inText = false;
    return line.startsWith('⎔ Local server updated') ? { kind: 'reloaded' } : undefined;
  };
}

function readLogLine(raw: string): LogLine | undefined {
  if (!raw.startsWith('{"step":')) return undefined;
  try {
    return JSON.parse(raw) as LogLine;
  } catch {
    return undefined;
  }
}
