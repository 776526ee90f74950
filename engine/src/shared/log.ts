/** A log line: a step of an event's path, and how it ended. */
export interface LogLine extends LogFields {
  readonly step:
    | 'delivery'
    | 'claim'
    | 'tickets'
    | 'completion'
    | 'effect'
    | 'dead_letter'
    | 'batch'
    | 'sweep'
    | 'prune'
    | 'erase'
    | 'alert'
    | 'reconcile'
    | 'pause'
    | 'operator'
    | 'configuration';
}

export interface LogFields {
  readonly outcome: string;
  /** Only names, keys, outcomes and durations. Never a body, a secret, a signature, a URL or an error's message. */
  readonly [field: string]: string | number | boolean | null | undefined | readonly string[];
}

export type Log = (line: LogLine) => void;

/** A batch may have thousands of events. Postgres has all their ids. */
const MAX_IDS = 5;

/** The fields that name a line's events: the id of a single event, or the first ids and the number of events. */
export function eventIdFields(ids: readonly string[]) {
  if (ids.length === 1) return { event_id: ids[0] };
  return { event_ids: ids.slice(0, MAX_IDS), events: ids.length };
}

export const log: Log = (line) => console.log(jsonLine(line));

/**
 * Writes JSON on one line and escapes all invisible characters, such as those that reverse or hide the text around
 * them. Senders choose ids, and JSON itself escapes only some of these characters. They can occur only inside strings.
 */
export function jsonLine(value: unknown): string {
  const escaped = (char: string) =>
    Array.from({ length: char.length }, (_, n) => `\\u${char.charCodeAt(n).toString(16).padStart(4, '0')}`).join('');
  return JSON.stringify(value).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, escaped);
}

/** The fields for an unexpected error: its class and where it was thrown, but never its message. */
export function errorFields(error: unknown) {
  return { error: error instanceof Error ? nameOf(error) : typeof error, position: positionOf(error) };
}

/** The name of an error's class. Code may set a name to any text, even to part of a payload. */
export function nameOf({ name }: Error | DOMException): string {
  return typeof name === 'string' && /^[\w$.]{1,80}$/.test(name) ? name : 'Error';
}

/** The innermost frames are enough to find the line. */
const MAX_FRAMES = 3;

/** In characters. Three frames have about 200, but a function's name may have any length. */
const MAX_POSITION = 1000;

/**
 * Where an error was thrown: `handle (consumer.js:120:9) < …`. The message is omitted because it may contain personal
 * data. Positions refer to the bundle; `npm run dev` translates them to lines of your files.
 */
export function positionOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || typeof error.stack !== 'string') return undefined;
  const { stack, message } = error;
  // The stack begins with the message, which may contain lines that look like frames.
  const afterMessage = stack.slice(stack.includes(message) ? stack.indexOf(message) + message.length : 0);
  const lines = afterMessage.split('\n');
  const frames = lines.slice(lines.findLastIndex((line) => !/^\s+at /.test(line)) + 1);
  // Remove the path of the file, because it only says where the bundle was built.
  const positions = frames.map((frame) => frame.replace(/^\s+at (async )?/, '').replace(/[^\s(]*\//, ''));
  return positions.slice(0, MAX_FRAMES).join(' < ').slice(0, MAX_POSITION) || undefined;
}
