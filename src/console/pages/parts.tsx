import type { EventFilter } from '../../db/filter.ts';
import { fieldsOfFilter } from '../input.ts';

/**
 * A text that strangers wrote, safe to read: what has no shape of its own, or changes the order of the characters around
 * it, is shown by its number. JSX escapes markup, but not these.
 */
export function visible(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu, (char) =>
      char === '\n' || char === '\t'
        ? char
        : `⟦U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟧`,
    );
}

/** `bdi`: letters that are written from right to left stay within their place. */
export function Text({ value }: { value: string }) {
  return <bdi>{visible(value)}</bdi>;
}

/** Ids and types are one line, so their line breaks are shown by number as well. */
export function Code({ value }: { value: string }) {
  return (
    <code>
      <bdi>{visible(value).replaceAll('\n', '⟦U+000A⟧').replaceAll('\t', '⟦U+0009⟧')}</bdi>
    </code>
  );
}

/** A time in UTC, with how long ago it was. The script adds the time zone of the reader. */
export function Time({ at, now }: { at: string | null; now: Date }) {
  if (at === null) return <span class="quiet">never</span>;
  const seconds = (now.getTime() - Date.parse(at)) / 1000;
  const relative = seconds < 0 ? `in ${duration(-seconds)}` : `${duration(seconds)} ago`;
  return (
    <time datetime={at}>
      {at.replace('T', ' ').replace(/\.\d+Z$/, '')} UTC <span class="quiet">({relative})</span>
    </time>
  );
}

/** Only how long ago, for narrow tables. The exact time is in `datetime` and, with the script, in the title. */
export function Ago({ at, now }: { at: string | null; now: Date }) {
  if (at === null) return <span class="quiet">never</span>;
  return <time datetime={at}>{duration((now.getTime() - Date.parse(at)) / 1000)} ago</time>;
}

const UNITS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
] as const;

/** `0.4 s`, `12 s`, `3 min`, `2 h`, `5 d`. */
export function duration(seconds: number): string {
  const unit = UNITS.find(([size]) => seconds >= size);
  if (unit) return `${Math.floor(seconds / unit[0])} ${unit[1]}`;
  return `${seconds >= 10 || seconds < 0.05 ? Math.max(0, Math.round(seconds)) : seconds.toFixed(1)} s`;
}

export function Status({ status }: { status: string }) {
  return <span class={`status ${status}`}>{status}</span>;
}

/** `1 event`, `2 events`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

/** The key goes into the query, because `.` and `..` can't be the segment of a path, and an id may be one of them. */
export function eventPath(event: { source: string; event_id: string }): string {
  return `/ops/event?${new URLSearchParams({ source: event.source, event_id: event.event_id })}`;
}

export function listPath(filter: EventFilter, more: Record<string, string> = {}): string {
  const query = new URLSearchParams({ ...fieldsOfFilter(filter), ...more }).toString();
  return query === '' ? '/ops/events' : `/ops/events?${query}`;
}

export function HiddenFields({ fields }: { fields: Readonly<Record<string, string>> }) {
  return (
    <>
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
    </>
  );
}
