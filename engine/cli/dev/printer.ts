import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { quoted } from '../../src/ops/words.ts';
import { jsonLine, type LogLine } from '../../src/shared/log.ts';
import { WORKERS, type WorkerKind } from '../config/worker-config.ts';
import type { Refusal } from '../local/neon/endpoint.ts';
import type { OutsideRequest } from '../local/outside.ts';
import { devFolder } from '../local/worker-copies.ts';
import { type Bundle, mapPosition, readDevBundle } from '../ops/decode.ts';
import { printable } from '../ops/print.ts';
import type { WranglerOutput } from './wrangler.ts';

export interface PrinterOptions {
  readonly events: Pick<LocalEvents, 'detailsOf' | 'keepPlace'>;
  /** Prints the log lines unchanged. */
  readonly json: boolean;
  readonly say: (text: string) => void;
}

/** Prints one line for each step of an event's path, in order. */
export function createPrinter({ events, json, say }: PrinterOptions) {
  let last: Promise<void> = Promise.resolve();
  const inOrder = (print: () => Promise<void>) => {
    last = last.then(print).catch((error) => console.error(error));
  };
  // Read once the Workers have started. After a failed build there is no bundle, and the previous code still runs.
  const bundles = new Map<WorkerKind, Bundle | undefined>();
  // Postgres's last message for each SQLSTATE. Its messages quote data, so the Workers log only the SQLSTATE.
  const refusals = new Map<string, string>();
  const framesOf = ({ position }: LogLine, worker: WorkerKind) =>
    typeof position === 'string' ? mapPosition(position, bundles.get(worker)) : [];
  const textOf = async (line: LogLine, worker: WorkerKind) => {
    const details = await events.detailsOf(line).catch(() => ({}));
    const frames = framesOf(line, worker);
    const said = refusals.get(sqlStateOf(line) ?? '');
    return readable(line, { ...details, said, frames: helpfulFrames(frames, line) });
  };
  return {
    /** Must be called whenever new code runs. */
    readBundles(): void {
      for (const worker of WORKERS) bundles.set(worker, readDevBundle(devFolder(worker)));
    },
    worker(printed: Exclude<WranglerOutput, { kind: 'reloaded' }>): void {
      inOrder(async () => {
        if (printed.kind === 'text') return say(printed.text);
        // Store the translated position, so that the console shows it.
        const frames = framesOf(printed.line, printed.worker);
        if (printed.worker === 'consumer' && frames.length > 0 && printed.line.event_id) {
          void events.keepPlace(printed.line, frames.join(' < ')).catch(() => {});
        }
        if (json) return console.log(jsonLine(printed.line));
        if (!saysNothing(printed.line)) say(await textOf(printed.line, printed.worker));
      });
    },
    outside({ method, path, idempotencyKey }: OutsideRequest): void {
      const key = idempotencyKey ? `  idempotency key ${idempotencyKey.slice(0, 12)}…` : '';
      inOrder(async () => say(`outside        ${method} ${printable(path)}${key}`));
    },
    refusal({ code, message, detail }: Refusal): void {
      if (code) refusals.set(code, [message, detail].filter(Boolean).join('. '));
    },
  };
}

function sqlStateOf({ reason }: LogLine): string | undefined {
  return /SQLSTATE (\w{5})/.exec(String(reason))?.[1];
}

/**
 * The stack frames in the user's own files, if there are any. Other frames help only if the handler threw the error,
 * because its return value and payload are checked in the engine.
 */
export function helpfulFrames(frames: readonly string[], { failure }: Partial<LogLine>): readonly string[] {
  const own = frames.filter((frame) => /(^|\()src\//.test(frame));
  return own.length > 0 || (failure !== undefined && failure !== 'handler') ? own : frames;
}

/** What Postgres knows about an event or effect but the log must not contain. */
export interface Details {
  readonly type?: string | null | undefined;
  readonly attempts?: number | undefined;
  /** The last failure's message. */
  readonly error?: string | null | undefined;
  /** Postgres's message. */
  readonly said?: string | undefined;
  /** `position`, translated to the user's files. */
  readonly frames?: readonly string[] | undefined;
}

/** Fields that are printed separately, or are useless to a reader. */
const PLACED = new Set(
  'step source type event_id event_ids name outcome reason error position ms idempotency_key'.split(' '),
);

/** The longest step is `configuration`. */
const STEP_WIDTH = 13;

/** Formats a log line for a person. */
export function readable(line: LogLine, details: Details = {}): string {
  const rest = Object.entries(line)
    .filter(([field, value]) => !PLACED.has(field) && value !== undefined && value !== null)
    .filter(([field]) => !(field === 'events' && 'event_ids' in line))
    .map(([field, value]) => `${field} ${value}`);
  const failed = line.outcome === 'retry' || line.outcome === 'parked';
  const error = failed && details.error ? details.error : text(line.reason);
  const words = [
    text(line.source),
    text(line.type ?? details.type),
    eventsOf(line),
    text(line.name),
    line.outcome + (failed && details.attempts ? ` (attempt ${details.attempts})` : ''),
    ...rest,
    line.ms === undefined ? undefined : `${line.ms} ms`,
    error,
  ].filter((word) => word !== undefined && word !== '');
  const below = [
    details.said && `Postgres: ${details.said}`,
    ...(details.frames ?? []).map((frame) => `at ${frame}`),
    line.outcome === 'parked' ? retryCommand(line) : undefined,
  ].filter((one) => one !== undefined);
  const first = `${line.step.padEnd(STEP_WIDTH)}  ${words.join('  ')}`;
  return [first, ...below.map((one) => ' '.repeat(STEP_WIDTH + 4) + one)].map((one) => printable(one)).join('\n');
}

/** The outcomes of a second or early ticket. */
const NOTHING_DONE = ['deferred', 'not_due', 'already_finished'];

/** The cron runs every minute and usually finds nothing to do. */
export function saysNothing(line: LogLine): boolean {
  if (NOTHING_DONE.includes(line.outcome)) return true;
  if (line.step !== 'sweep' && line.step !== 'prune') return false;
  return line.outcome === 'done' && ['events', 'effects', 'bodies'].every((field) => !line[field]);
}

function eventsOf({ event_id, event_ids, events }: LogLine): string | undefined {
  if (typeof event_id === 'string') return event_id;
  if (!Array.isArray(event_ids)) return undefined;
  const more = typeof events === 'number' && events > event_ids.length ? ', …' : '';
  return events === 0 ? 'no event' : `${events} events: ${event_ids.join(', ')}${more}`;
}

function retryCommand({ source, event_id }: LogLine): string | undefined {
  if (typeof event_id !== 'string') return undefined;
  return `to try it again: npm run ops -- retry ${source} ${quoted(event_id)}`;
}

function text(value: LogLine[string]): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

const LOOKS = 10;
const LOOK_EVERY_MS = 50;

/** Waits, because an effect's line is logged shortly before its failure is written. */
async function untilWritten(isWritten: () => Promise<boolean>): Promise<void> {
  for (let look = 1; !(await isWritten()) && look < LOOKS; look++) await sleep(LOOK_EVERY_MS);
}

/** What `npm run dev` itself reads and changes in the local database. */
export interface LocalEvents {
  /** The type, attempts and last error for a log line. */
  detailsOf(line: LogLine): Promise<Details>;
  /** Replaces a stored `position` with the lines of the source files. */
  keepPlace(line: LogLine, place: string): Promise<void>;
  /**
   * Makes pending events and effects due now and returns their number. Those that asked to wait (RetryLater, must())
   * still wait. The extra attempt doesn't count.
   */
  makePendingDue(): Promise<number>;
  close(): Promise<void>;
}

export function openLocalEvents(databaseUrl: string): LocalEvents {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  // Postgres may be stopped while dev runs. The next query reconnects.
  pool.on('error', () => {});
  return {
    async keepPlace({ source, event_id, name, step, position }, place) {
      const table = step === 'effect' ? 'effects' : 'events';
      const values = [place, position, source, event_id, ...(step === 'effect' ? [name] : [])];
      const isIt = `position = $2 and source = $3 and event_id = $4 ${step === 'effect' ? 'and name = $5' : ''}`;
      const update = `update webhooks.${table} set position = $1 where ${isIt}`;
      await untilWritten(async () => Boolean((await pool.query(update, values)).rowCount));
    },
    async detailsOf({ source, event_id, name, step, outcome, reason }) {
      if (typeof source !== 'string' || typeof event_id !== 'string') return {};
      const query = step === 'effect' ? EFFECT : EVENT;
      const values = step === 'effect' ? [source, event_id, name] : [source, event_id];
      const failed = outcome === 'retry' || outcome === 'parked';
      let details: Details = {};
      await untilWritten(async () => {
        [details = {}] = (await pool.query<Details>(query, values)).rows;
        return !failed || details.error?.startsWith(String(reason)) === true;
      });
      return details;
    },
    async makePendingDue() {
      const { rows } = await pool.query<{ pending: number }>(MAKE_DUE);
      return rows[0]?.pending ?? 0;
    },
    close: () => pool.end(),
  };
}

const EVENT = 'select type, attempts, last_error as error from webhooks.events where source = $1 and event_id = $2';

const EFFECT = `
  select event.type, effect.attempts, effect.last_error as error
  from webhooks.effects effect join webhooks.events event using (source, event_id)
  where source = $1 and event_id = $2 and name = $3`;

/** The stored position of an error from `must()` begins with `must (` (see `keepPlace`). */
const DUE_NOW = `
  due_at = now(), not_before = null, attempts = greatest(attempts - 1, 0)
  where status = 'pending' and failure is distinct from 'retry_later' and coalesce(position, '') not like 'must (%'
  returning 1`;

const MAKE_DUE = `
  with events as (update webhooks.events set ${DUE_NOW}),
  effects as (update webhooks.effects set ${DUE_NOW})
  select ((select count(*) from events) + (select count(*) from effects))::int as pending`;
