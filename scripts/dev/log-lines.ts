import type { LogLine } from '../../src/shared/log.ts';

/** What Postgres knows of an event or an effect, and the log may not say. */
export interface Details {
  readonly type?: string | null | undefined;
  readonly attempts?: number | undefined;
  /** The message of the last failure. */
  readonly error?: string | null | undefined;
  /** `position`, translated into the user's files. */
  readonly frames?: readonly string[] | undefined;
  /** What to do about a failure, if that is known. */
  readonly remedy?: string | undefined;
}

/** They have a place of their own in the line, or are of no use to a reader. */
const PLACED = new Set(
  'step source type event_id event_ids name outcome reason error position ms idempotency_key'.split(' '),
);

/** The longest step is `configuration`. */
const STEP_WIDTH = 13;

/** A line of the log as a person reads it. `undefined` if it says that nothing happened. */
export function readable(line: LogLine, details: Details = {}): string | undefined {
  if (saysNothing(line)) return undefined;
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
    ...(details.frames ?? []).map((frame) => `at ${frame}`),
    details.remedy,
    line.outcome === 'parked' ? retryCommand(line) : undefined,
  ].filter((one) => one !== undefined);
  const first = `${line.step.padEnd(STEP_WIDTH)}  ${words.join('  ')}`;
  return [first, ...below.map((one) => ' '.repeat(STEP_WIDTH + 4) + one)].join('\n');
}

/** The cron is ticked every minute, and mostly finds nothing to do. */
function saysNothing(line: LogLine): boolean {
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

function quoted(id: string): string {
  return /^[\w.:-]+$/.test(id) ? id : `'${id.replaceAll("'", `'\\''`)}'`;
}

function text(value: LogLine[string]): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
