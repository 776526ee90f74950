import { FAILURES } from '../../db/schema.ts';
import type { EventFilter, ListedEvent } from '../../db/views.ts';
import { EFFECT_STATUSES, fieldsOf, STATUSES } from '../input.ts';
import { Layout, type PageContext } from './layout.tsx';
import { Ago, Code, eventPath, Failed, listPath, Status, Table, Text, visible } from './parts.tsx';

interface ListProps extends PageContext {
  readonly filter: EventFilter;
  readonly events: readonly ListedEvent[];
  readonly nextCursor: string | null;
  readonly isFirstPage: boolean;
  /** To choose from. Other names can be in the address. */
  readonly sources: readonly string[];
  readonly types: readonly string[];
}

export function List({ filter, events, nextCursor, isFirstPage, sources, types, ...context }: ListProps) {
  return (
    <Layout {...context} title="Events" current="/ops/events">
      <h1>Events</h1>
      <FilterForm filter={filter} sources={sources} types={types} now={context.now} />
      {events.length === 0 ? (
        <p class="empty">
          There are no such events. <a href="/ops/events">Show all events</a>
        </p>
      ) : (
        <>
          <BulkLinks filter={filter} />
          <Table
            rows={events}
            columns={[
              ['Event', EventLink],
              ['Status', Status],
              ['Type', ({ type }) => (type === null ? '–' : <Text value={type} />)],
              ['Received', ({ received_at }) => <Ago at={received_at} now={context.now} />],
              ['Attempts', ({ attempts }) => attempts],
              ['Error', Failed, 'error'],
            ]}
          />
          <nav class="pages" aria-label="More events">
            {!isFirstPage && <a href={listPath(filter)}>Newest</a>}
            {nextCursor && (
              <a href={listPath(filter, { cursor: nextCursor })} rel="next">
                Older events
              </a>
            )}
          </nav>
        </>
      )}
    </Layout>
  );
}

function EventLink(event: ListedEvent) {
  return (
    <a href={eventPath(event)}>
      <span class="quiet">
        <Text value={event.source} />
      </span>{' '}
      <Code value={event.event_id} />
    </a>
  );
}

/** Only actions that can match: nothing that is done can be retried, but its effects may be parked. */
function BulkLinks({ filter }: { filter: EventFilter }) {
  const link = (action: string, name: string) => (
    <a class="button" href={`/ops/bulk?${new URLSearchParams({ ...fieldsOf(filter), action })}`}>
      {name}
    </a>
  );
  const finished = filter.status === 'done' || filter.status === 'ignored';
  if (filter.status === 'pending') return null;
  return (
    <p class="actions">
      {!finished && link('retry', 'Retry all that match…')}
      {!finished && link('discard', 'Discard all that match…')}
      {filter.status !== 'parked' && link('rerun', 'Run all that match again…')}
    </p>
  );
}

function FilterForm({ filter, sources, types, now }: Pick<ListProps, 'filter' | 'sources' | 'types' | 'now'>) {
  const { source, status, type, failure, effectStatus, eventId, since, until } = filter;
  const choice = (label: string, name: string, all: string, choices: readonly string[], chosen: string | undefined) => (
    <label>
      {label}
      <select name={name}>
        <option value="">{all}</option>
        {choices.map((value) => (
          <option value={value} selected={value === chosen}>
            {visible(value)}
          </option>
        ))}
      </select>
    </label>
  );
  const time = (label: string, name: string, value: Date | undefined) => (
    <label class="time">
      {label}
      <input name={name} type="datetime-local" value={value?.toISOString().slice(0, 16)} />
    </label>
  );
  const ago = (ms: number) => new Date(now.getTime() - ms);
  const spans: [string, Date | undefined][] = [
    ['last hour', ago(3_600_000)],
    ['today (UTC)', new Date(now.toISOString().slice(0, 10))],
    ['last 24 h', ago(86_400_000)],
    ['last 7 days', ago(7 * 86_400_000)],
    ['any time', undefined],
  ];
  return (
    <form class="filter" method="get" action="/ops/events" aria-label="Filter">
      {/* A filter from an address may name a source that is not configured any more. */}
      {choice('Source', 'source', 'all', [...new Set([...sources, ...(source === undefined ? [] : [source])])], source)}
      {choice('Status', 'status', 'all', STATUSES, status)}
      <label>
        Type
        <input name="type" value={type} list="types" autocomplete="off" />
        <datalist id="types">
          {types.map((name) => (
            <option value={name}></option>
          ))}
        </datalist>
      </label>
      {choice('Failure', 'failure', 'any', FAILURES, failure)}
      {choice('With effects', 'effect_status', 'any', EFFECT_STATUSES, effectStatus)}
      <label>
        Event id
        <input name="q" value={eventId} type="search" autocomplete="off" spellcheck={false} />
      </label>
      {time('Received from (UTC)', 'since', since)}
      {time('until (UTC)', 'until', until)}
      <button type="submit">Show</button>
      <p class="spans">
        Received:{' '}
        {spans.map(([name, from]) => (
          <>
            <a href={listPath({ ...filter, since: from, until: undefined })}>{name}</a>{' '}
          </>
        ))}
      </p>
    </form>
  );
}
