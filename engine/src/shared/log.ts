/** One line of the log: which step of an event's path it is about, and how that step ended. */
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
    | 'alert'
    | 'reconcile'
    | 'pause'
    | 'operator'
    | 'configuration';
}

export interface LogFields {
  readonly outcome: string;
  /** Only names, keys, outcomes and durations: never a body, a secret, a signature, a URL or the message of an error. */
  readonly [field: string]: string | number | boolean | null | undefined | readonly string[];
}

export type Log = (line: LogLine) => void;

/** A batch may have thousands of events. All their ids are in Postgres. */
const MAX_IDS = 5;

/** The fields of a line that name its events: the id of the only one, or the first ids and how many there are. */
export function eventIdFields(ids: readonly string[]) {
  if (ids.length === 1) return { event_id: ids[0] };
  return { event_ids: ids.slice(0, MAX_IDS), events: ids.length };
}

export const log: Log = (line) => console.log(jsonLine(line));

/**
 * JSON on one line, with everything escaped that isn't printed as itself, such as what reverses or hides the text around it.
 * JSON itself escapes only some of these, and senders write ids. In JSON they can only be inside of texts.
 */
export function jsonLine(value: unknown): string {
  const escaped = (char: string) =>
    Array.from({ length: char.length }, (_, n) => `\\u${char.charCodeAt(n).toString(16).padStart(4, '0')}`).join('');
  return JSON.stringify(value).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, escaped);
}

/** The fields of a line about an error of code: its class and where it was thrown. Never its message. */
export function errorFields(error: unknown) {
  return { error: error instanceof Error ? nameOf(error) : typeof error, position: positionOf(error) };
}

/** The name of an error's class. Code may set a name to any text, also to a part of a payload. */
export function nameOf({ name }: Error | DOMException): string {
  return typeof name === 'string' && /^[\w$.]{1,80}$/.test(name) ? name : 'Error';
}

/** The innermost frames are enough to find the line. More would only make the log line long. */
const MAX_FRAMES = 3;

/** In characters. Three frames have about 200, but a function may have a name of any length. */
const MAX_POSITION = 1000;

/**
 * Where an error was thrown: `handle (consumer.js:120:9) < …`. The message is left out, because it may hold personal data.
 * The positions are those of the bundle: `npm run dev` shows them as lines of your files.
 */
export function positionOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || typeof error.stack !== 'string') return undefined;
  const { stack, message } = error;
  // The stack begins with the message, which may have lines that look like frames.
  const afterMessage = stack.slice(stack.includes(message) ? stack.indexOf(message) + message.length : 0);
  const lines = afterMessage.split('\n');
  const frames = lines.slice(lines.findLastIndex((line) => !/^\s+at /.test(line)) + 1);
  // The path in front of the file name says only where the bundle was built.
  const positions = frames.map((frame) => frame.replace(/^\s+at (async )?/, '').replace(/[^\s(]*\//, ''));
  return positions.slice(0, MAX_FRAMES).join(' < ').slice(0, MAX_POSITION) || undefined;
}
