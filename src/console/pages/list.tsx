import type { EventFilter } from '../../db/filter.ts';
import type { ListedEvent } from '../../db/list.ts';
import { webhookEvents } from '../../db/schema.ts';
import { EFFECT_STATUSES, fieldsOfFilter } from '../input.ts';
import { Layout, type PageContext } from './layout.tsx';
import { Ago, Code, eventPath, listPath, Status, Text, visible } from './parts.tsx';

export interface ListProps extends PageContext {
  readonly filter: EventFilter;
  readonly events: readonly ListedEvent[];
  readonly nextCursor: string | null;
  readonly isFirstPage: boolean;
  /** To choose from. Other names can be in the address. */
  readonly sources: readonly string[];
  readonly types: readonly string[];
  readonly notice?: string | undefined;
}

export function List({ filter, events, nextCursor, isFirstPage, sources, types, notice, ...context }: ListProps) {
  const isFiltered = Object.keys(fieldsOfFilter(filter)).length > 0;
  return (
    <Layout {...context} title="Events" current="/ops/events">
      <h1>Events</h1>
      {notice && (
        <p class="banner good" role="status">
          {notice}
        </p>
      )}
      <FilterForm filter={filter} sources={sources} types={types} now={context.now} />
      {events.length === 0 ? (
        <p class="empty">
          {isFiltered ? (
            <>
              No event matches. <a href="/ops/events">Show all events</a>
            </>
          ) : (
            'There are no events.'
          )}
        </p>
      ) : (
        <>
          <BulkLinks filter={filter} />
          <table class="cards">
            <thead>
              <tr>
                <th scope="col">Event</th>
                <th scope="col">Status</th>
                <th scope="col">Type</th>
                <th scope="col">Received</th>
                <th scope="col">Attempts</th>
                <th scope="col">Error</th>
              </tr>
            </thead>
            <tbody>
              {events.map((event) => (
                <tr>
                  <th scope="row">
                    <a href={eventPath(event)}>
                      <span class="quiet">
                        <Text value={event.source} />
                      </span>{' '}
                      <Code value={event.event_id} />
                    </a>
                  </th>
                  <td data-label="Status">
                    <Status status={event.status} />
                  </td>
                  <td data-label="Type">{event.type === null ? '–' : <Text value={event.type} />}</td>
                  <td data-label="Received">
                    <Ago at={event.received_at} now={context.now} />
                  </td>
                  <td data-label="Attempts">{event.attempts}</td>
                  <td data-label="Error" class="error">
                    {event.last_error === null ? '–' : <Text value={event.last_error} />}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
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

/** Only actions that can match: nothing that is done can be retried, but its effects may be parked. */
function BulkLinks({ filter }: { filter: EventFilter }) {
  const link = (action: string, name: string) => (
    <a class="button" href={`/ops/bulk?${new URLSearchParams({ ...fieldsOfFilter(filter), action })}`}>
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

function FilterForm({ filter, sources, types, now }: Pick<ListProps, 'filter' | 'sources' | 'types'> & { now: Date }) {
  const { source, status, type, effectStatus, eventId, since, until } = filter;
  // A filter from an address may name a source that is not configured any more.
  const choices = [...new Set([...sources, ...(source === undefined ? [] : [source])])];
  const option = (value: string, chosen: string | undefined) => (
    <option value={value} selected={value === chosen}>
      {visible(value)}
    </option>
  );
  const field = (time: Date | undefined) => time?.toISOString().slice(0, 16);
  const today = new Date(now.toISOString().slice(0, 10));
  const spans: [string, Date][] = [
    ['last hour', new Date(now.getTime() - 3_600_000)],
    ['today (UTC)', today],
    ['last 24 h', new Date(now.getTime() - 86_400_000)],
    ['last 7 days', new Date(now.getTime() - 7 * 86_400_000)],
  ];
  return (
    <form class="filter" method="get" action="/ops/events" aria-label="Filter">
      <label>
        Source
        <select name="source">
          <option value="">all</option>
          {choices.map((name) => option(name, source))}
        </select>
      </label>
      <label>
        Status
        <select name="status">
          <option value="">all</option>
          {webhookEvents.status.enumValues.map((name) => option(name, status))}
        </select>
      </label>
      <label>
        Type
        <input name="type" value={type} list="types" autocomplete="off" />
        <datalist id="types">
          {types.map((name) => (
            <option value={name}></option>
          ))}
        </datalist>
      </label>
      <label>
        With effects
        <select name="effect_status">
          <option value="">any</option>
          {EFFECT_STATUSES.map((name) => option(name, effectStatus))}
        </select>
      </label>
      <label>
        Event id
        <input name="q" value={eventId} type="search" autocomplete="off" spellcheck={false} />
      </label>
      <label>
        Received from (UTC)
        <input name="since" type="datetime-local" value={field(since)} />
      </label>
      <label>
        until (UTC)
        <input name="until" type="datetime-local" value={field(until)} />
      </label>
      <button type="submit">Show</button>
      <p class="spans">
        Received:{' '}
        {spans.map(([name, from]) => (
          <>
            <a href={listPath({ ...filter, since: from, until: undefined })}>{name}</a>{' '}
          </>
        ))}
        <a href={listPath({ ...filter, since: undefined, until: undefined })}>any time</a>
      </p>
    </form>
  );
}
