import type { Child } from 'hono/jsx';
import { type EventFilter, filterFields } from '../../db/filter.ts';
import type { ActionName } from '../../db/schema.ts';
import type { ListedEvent } from '../../db/views.ts';
import { counted } from '../../shared/counts.ts';
import { clock, relative } from '../words.ts';
import type { PageContext } from './layout.tsx';

/**
 * Makes a stranger's text safe to read: invisible characters, and those that change the order of others, are shown as
 * numbers. JSX escapes markup, but not these.
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

/** Ids and types are shown on one line, so their line breaks are shown as numbers too. */
export function oneLine(text: string): string {
  return visible(text).replaceAll('\n', '⟦U+000A⟧').replaceAll('\t', '⟦U+0009⟧');
}

/** Lets a long path break after a dot instead of inside a word. */
const breakable = (text: string) => text.split(/(?<=\w\.)(?=\w)/).map((part, index) => [index > 0 && <wbr />, part]);

/** `bdi` isolates right-to-left text, so that it can't reorder what is around it. */
export function Text({ value }: { value: string }) {
  return <bdi>{breakable(visible(value))}</bdi>;
}

export function Code({ value }: { value: string }) {
  return (
    <code>
      <bdi>{breakable(oneLine(value))}</bdi>
    </code>
  );
}

/** What fits into a column. */
const MAX_ID_LENGTH = 25;
/** How much of the end is always visible, because people compare the ends of ids. */
const END_LENGTH = 6;

/** An id on one line. The style hides the middle of a long id, but hovering, copying and searching still find it. */
export function Id({ value }: { value: string }) {
  const chars = [...oneLine(value)];
  if (chars.length <= MAX_ID_LENGTH) return <Code value={value} />;
  const end = chars.splice(-END_LENGTH).join('');
  return (
    <code class="id" title={chars.join('') + end}>
      <bdi>{chars.join('')}</bdi>
      <bdi>{end}</bdi>
    </code>
  );
}

/** A time in UTC and how long ago it was. The script adds the reader's time zone. */
export function Time({ at, now }: { at: string; now: Date }) {
  return (
    <time datetime={at}>
      {new Date(at).toISOString().replace('T', ' ').slice(0, 19)} UTC <span class="quiet">({relative(at, now)})</span>
    </time>
  );
}

/** How long ago something was, for narrow places. */
export function Ago({ at, never = 'never', now }: { at: string | null; never?: string; now: Date }) {
  if (at === null) return <span class="quiet">{never}</span>;
  return (
    <time datetime={at} title={`${clock(at, now)} UTC`}>
      {relative(at, now)}
    </time>
  );
}

/** What to do if nothing has arrived yet. */
export function FirstEvent({ operator, source }: Pick<PageContext, 'operator'> & { source: string | undefined }) {
  if (!operator?.isLocal) return <>Check that the provider sends to this receiver.</>;
  return (
    <>
      Send a signed sample from another terminal: <code>npm run send -- {source ?? '<source>'}</code>
    </>
  );
}

/** Parts of a line. The separators are text, so that copying the line includes them. False parts are omitted. */
export function Origin({ parts }: { parts: readonly Child[] }) {
  return (
    <p class="origin">
      {parts.filter(Boolean).map((part, index) => (
        <span>
          {index > 0 && <span class="point"> · </span>}
          {part}
        </span>
      ))}
    </p>
  );
}

export function Status({ status }: { status: string }) {
  return <span class={`status ${status}`}>{status}</span>;
}

/** The key is in the query, because an id may be `.` or `..`, which can't be a segment of a path. */
export function eventPath(event: { source: string; event_id: string }): string {
  return `/ops/event?${new URLSearchParams({ source: event.source, event_id: event.event_id })}`;
}

/**
 * The address of a page about the events of a filter. Used for every link and form, so that no field of the filter gets
 * lost.
 */
function pathOf(page: string, filter: EventFilter, more: Record<string, string>): string {
  const query = new URLSearchParams({ ...more, ...filterFields(filter) }).toString();
  return query === '' ? page : `${page}?${query}`;
}

export const listPath = (filter: EventFilter, more: Record<string, string> = {}) => pathOf('/ops/events', filter, more);

/** With an action, the address of the confirmation page. Its form contains the action itself. */
export const bulkPath = (filter: EventFilter, action?: ActionName) =>
  pathOf('/ops/bulk', filter, action ? { action } : {});

/** A discarded event has no completion. An event that its handler ignored has one. */
export function isDiscarded({ status, completions }: Pick<ListedEvent, 'status' | 'completions'>): boolean {
  return status === 'ignored' && completions === 0;
}

/** A list of names and values. False rows are omitted. */
export function Facts({ rows }: { rows: readonly (readonly [Child, Child] | false)[] }) {
  return (
    <dl class="facts">
      {rows
        .filter((row) => row !== false)
        .map(([name, fact]) => (
          <div>
            <dt>{name}</dt>
            <dd>{fact}</dd>
          </div>
        ))}
    </dl>
  );
}

/** A column of a table: its heading, its cells, and its style. */
type Column<Row> = readonly [string, (row: Row) => Child, string?];

interface TableProps<Row> {
  readonly caption: string;
  readonly rows: readonly Row[];
  readonly columns: readonly (Column<Row> | false)[];
  /** The style of a row, which shows its state at the edge. */
  readonly edge?: (row: Row) => string;
  readonly style?: 'cards' | 'list';
}

/** The first column identifies the row. On a narrow screen each row is a card, and each cell shows its heading. */
export function Table<Row>({ caption, rows, edge, style = 'cards', ...props }: TableProps<Row>) {
  if (rows.length === 0) return null;
  const columns = props.columns.filter((column) => column !== false);
  return (
    <table class={style}>
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map(([head, , name]) => (
            <th scope="col" class={name}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr class={edge?.(row)}>
            {columns.map(([head, cell, name], index) =>
              index === 0 ? (
                <th scope="row" class={name}>
                  {cell(row)}
                </th>
              ) : (
                <td data-label={head} class={name}>
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

/** An event may have a thousand effects, or a script may have retried it a thousand times. */
export const MAX_ROWS = 200;

export function Limited({ to, of, noun }: { to: 'first' | 'last'; of: number; noun: string }) {
  return of > MAX_ROWS ? <p class="quiet">{`The ${to} ${MAX_ROWS} of ${counted(of, noun)}.`}</p> : null;
}

interface FigureProps {
  readonly name: string;
  readonly value: number | string;
  /** The events that the number counts. */
  readonly filter?: EventFilter | undefined;
  readonly style?: string | undefined;
  readonly children?: Child;
}

/** A large number that is seen first. */
export function Figure({ name, value, filter, style, children }: FigureProps) {
  const number = value.toLocaleString('en');
  return (
    <div>
      <dt>{name}</dt>
      <dd class={style}>{filter && value !== 0 ? <a href={listPath(filter)}>{number}</a> : number}</dd>
      {children && <dd class="quiet">{children}</dd>}
    </div>
  );
}
