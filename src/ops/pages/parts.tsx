import type { Child } from 'hono/jsx';
import type { EventFilter, ListedEvent } from '../../db/views.ts';
import { parseJson } from '../../shared/json.ts';
import { fieldsOf } from '../input.ts';

/**
 * A text that strangers wrote, safe to read: characters without a shape, and those that change the order of others, are
 * shown by their numbers. JSX escapes markup, but not these.
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
export function Time({ at, now }: { at: string; now: Date }) {
  const seconds = (now.getTime() - Date.parse(at)) / 1000;
  const relative = seconds < 0 ? `in ${duration(-seconds)}` : `${duration(seconds)} ago`;
  return (
    <time datetime={at}>
      {new Date(at).toISOString().replace('T', ' ').slice(0, 19)} UTC <span class="quiet">({relative})</span>
    </time>
  );
}

/** Only how long ago, for narrow tables. The exact time is in `datetime` and, with the script, in the title. */
export function Ago({ at, never = 'never', now }: { at: string | null; never?: string; now: Date }) {
  if (at === null) return <span class="quiet">{never}</span>;
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

/** Why the last attempt failed: the kind that filters know, and the sentence for people. */
export function Failed({ failure, last_error }: Pick<ListedEvent, 'failure' | 'last_error'>) {
  if (failure === null && last_error === null) return <>–</>;
  return (
    <span>
      {failure !== null && <strong>{failure}</strong>} {last_error !== null && <Text value={last_error} />}
    </span>
  );
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
  const query = new URLSearchParams({ ...fieldsOf(filter), ...more }).toString();
  return query === '' ? '/ops/events' : `/ops/events?${query}`;
}

/** Names and what is known of them. */
export function Facts({ rows }: { rows: readonly (readonly [Child, Child])[] }) {
  return (
    <dl class="facts">
      {rows.map(([name, fact]) => (
        <>
          <dt>{name}</dt>
          <dd>{fact}</dd>
        </>
      ))}
    </dl>
  );
}

/** A column of a table: its head, what is in it, and its style. */
type Column<Row> = readonly [string, (row: Row) => Child, string?];

/** The first column says what a row is about. On a narrow screen each row is a card, and each cell shows its head. */
export function Table<Row>({ rows, columns }: { rows: readonly Row[]; columns: readonly Column<Row>[] }) {
  if (rows.length === 0) return null;
  return (
    <table class="cards">
      <thead>
        <tr>
          {columns.map(([head]) => (
            <th scope="col">{head}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            {columns.map(([head, cell, style], index) =>
              index === 0 ? (
                <th scope="row">{cell(row)}</th>
              ) : (
                <td data-label={head} class={style}>
                  {cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A browser shows this much without effort. JSON of a few bytes may take a hundred times as much memory once it is parsed. */
export const MAX_SHOWN = 100_000;

/**
 * The beginning of a body. JSON gets line breaks and indents, and keeps every other character as it was: to parse it and
 * write it again would round long numbers, and lose repeated keys. Only what is shown is looked at.
 */
export function beginningOf(body: string): string {
  const isJson = body.length > MAX_SHOWN ? /^\s*[{[]/.test(body) : parseJson(body).outcome === 'parsed';
  const beginning = body.slice(0, MAX_SHOWN);
  return isJson ? prettyJson(beginning).slice(0, MAX_SHOWN) : beginning;
}

/** Deeper levels begin where this one does: in JSON of brackets alone, the indents would be all that is shown. */
const MAX_DEPTH = 20;

/** Takes a beginning as well, whose last text is cut. */
function prettyJson(text: string): string {
  let depth = 0;
  const line = () => `\n${'  '.repeat(Math.max(0, Math.min(depth, MAX_DEPTH)))}`;
  const tokens = text.match(/"(?:[^"\\]+|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/gs) ?? [];
  const pretty = tokens.map((token, index) => {
    if (token === ',') return token + line();
    if (token === ':') return ': ';
    if (OPENING.test(token)) {
      depth++;
      return CLOSING.test(tokens[index + 1] ?? '') ? token : token + line();
    }
    if (!CLOSING.test(token)) return token;
    depth--;
    return OPENING.test(tokens[index - 1] ?? '') ? token : line() + token;
  });
  return pretty.join('');
}

const OPENING = /^[{[]$/;
const CLOSING = /^[}\]]$/;
