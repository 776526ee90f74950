import { EFFECT_STATUSES, type EventFilter, filterFields, STATUSES } from '../../db/filter.ts';
import { FAILURES } from '../../db/schema.ts';
import type { ListedEvent } from '../../db/views.ts';
import { counted } from '../../shared/counts.ts';
import { attemptsOf, beginningOfError, clock } from '../words.ts';
import { Cause } from './failure.tsx';
import { Layout, type PageContext } from './layout.tsx';
import {
  Ago,
  bulkPath,
  Code,
  eventPath,
  FirstEvent,
  Id,
  isDiscarded,
  listPath,
  oneLine,
  Status,
  Table,
  Text,
  visible,
} from './parts.tsx';

interface ListProps extends PageContext {
  readonly filter: EventFilter;
  readonly events: readonly ListedEvent[];
  readonly nextCursor: string | null;
  /** How far back the events were searched, if the page is not full. */
  readonly searchedTo: string | undefined;
  readonly isFirstPage: boolean;
  /** To choose from. Other names can be in the address. */
  readonly sources: readonly string[];
  readonly types: readonly string[];
}

/** A retry usually takes a second or two. */
const REFRESH_SECONDS = 2;

export function List(props: ListProps) {
  const { filter, events, nextCursor, searchedTo, isFirstPage, sources, types, ...context } = props;
  const { now } = context;
  const title = titleOf(filter);
  const pending = events.filter(({ status, pending_effects }) => status === 'pending' || pending_effects > 0).length;
  // After an action, somebody watches what becomes of its events.
  const refresh = filter.action_at && pending > 0 ? REFRESH_SECONDS : undefined;
  return (
    <Layout
      {...context}
      title={title}
      current="/ops/events"
      refresh={refresh}
      summary={filter.action_at && `${pending} pending`}
    >
      <div class="title" id="title" data-live>
        <h1>{visible(title)}</h1>
        {events.length > 0 && <BulkLinks filter={filter} events={events} />}
      </div>
      <nav class="views" aria-label="Views">
        {VIEWS.map(([name, { status, effect_status }]) => (
          <a
            href={listPath({ ...filter, status, effect_status })}
            aria-current={filter.status === status && filter.effect_status === effect_status ? 'page' : undefined}
          >
            {name}
          </a>
        ))}
      </nav>
      <FilterForm filter={filter} sources={sources} types={types} now={now} />
      {events.length === 0 && searchedTo === undefined && (
        <p class="empty">
          <NoEvents {...context} filter={filter} source={sources[0]} />
        </p>
      )}
      <div id="list" data-live>
        <Table
          caption="Events, the newest first"
          style="list"
          rows={events}
          edge={({ status, parked_effects }) => (parked_effects > 0 ? 'parked' : status)}
          columns={[
            ['Event', EventLink, 'event'],
            ['Source', ({ source }) => <Code value={source} />, 'source'],
            ['Type', ({ type }) => (type === null ? '–' : <Id value={type} />), 'type'],
            ['Status', EventStatus, 'state'],
            ['Received', ({ received_at }) => <Ago at={received_at} now={now} />, 'when'],
            ['Why', Why, 'why'],
            ['Action', RetryButton, 'act'],
          ]}
        />
      </div>
      {searchedTo !== undefined && (
        <p class="empty">
          {events.length === 0 ? 'There are none so far' : 'These are all so far'}: events were searched back to{' '}
          {clock(searchedTo, now)} UTC.
        </p>
      )}
      <nav class="pages" aria-label="More events">
        {!isFirstPage && <a href={listPath(filter)}>Newest</a>}
        {nextCursor && (
          <a href={listPath(filter, { cursor: nextCursor })} rel="next">
            {searchedTo === undefined ? 'Older events' : 'Search older events'}
          </a>
        )}
      </nav>
      {events.length > 0 && (
        <p class="keys" hidden>
          <kbd>/</kbd> search <kbd>j k</kbd> move <kbd>enter</kbd> open <kbd>r</kbd> retry
        </p>
      )}
    </Layout>
  );
}

function NoEvents({ filter, ...first }: { filter: EventFilter } & Parameters<typeof FirstEvent>[0]) {
  const fields = Object.keys(filterFields(filter)).length;
  if (fields === 0) {
    return (
      <>
        There are no events yet. <FirstEvent {...first} />
      </>
    );
  }
  return (
    <>
      {filter.q === undefined ? (
        'There are no such events.'
      ) : (
        <>
          No event id begins with <Code value={filter.q} />
          {fields > 1 && ' among the events of this filter'}. The search knows only ids of events. Customers, orders and
          e-mail addresses are in the bodies: docs/runbook.md, “Where is this event?”, has the query that finds them.
        </>
      )}{' '}
      <a href="/ops/events">Show all events</a>
    </>
  );
}

/** The questions that a list usually answers. */
const VIEWS: readonly (readonly [string, EventFilter])[] = [
  ['All', {}],
  ['Parked', { status: 'parked' }],
  ['Effects parked', { effect_status: 'parked' }],
  ['Pending', { status: 'pending' }],
];

function titleOf({ error, status, effect_status }: EventFilter): string {
  if (error !== undefined) return beginningOfError(error);
  if (effect_status !== undefined) return `Events with ${effect_status} effects`;
  return status === undefined ? 'Events' : `${status[0]?.toUpperCase()}${status.slice(1)} events`;
}

function EventLink(event: ListedEvent) {
  return (
    <a href={eventPath(event)} aria-label={oneLine(event.event_id)}>
      <Id value={event.event_id} />
    </a>
  );
}

/** An event that is done may have an effect that isn't, and that waits for somebody. */
function EventStatus(event: ListedEvent) {
  const { status, parked_effects, pending_effects } = event;
  if (parked_effects > 0 && status !== 'parked') {
    return (
      <>
        <span class="status parked">{counted(parked_effects, 'effect')} parked</span>
        <span class="note">the event is {status}</span>
      </>
    );
  }
  return (
    <>
      <Status status={status} />
      {status === 'pending' && event.attempts > 0 && <span class="note">failed {attemptsOf(event)}</span>}
      {pending_effects > 0 && <span class="note">{counted(pending_effects, 'effect')} pending</span>}
    </>
  );
}

function Why(event: ListedEvent) {
  const { status, summary, last_error, effect_error } = event;
  if (status === 'ignored' && summary !== null) return <Text value={summary} />;
  if (last_error !== null) return <Cause {...event} />;
  return effect_error === null ? '' : <Cause failure={null} last_error={effect_error} position={null} />;
}

function RetryButton(event: ListedEvent) {
  const isWaiting = event.status === 'pending' && event.attempts > 0;
  if (event.status !== 'parked' && event.parked_effects === 0 && !isWaiting && !isDiscarded(event)) return '';
  const name = isWaiting ? 'Try now' : 'Retry';
  return (
    <form method="post" action={eventPath(event)}>
      <button type="submit" name="action" value="retry" aria-label={`${name} ${oneLine(event.event_id)}`}>
        {name}
      </button>
    </form>
  );
}

/** Only actions that can match: what is shown says whether something is parked. */
function BulkLinks({ filter, events }: Pick<ListProps, 'filter' | 'events'>) {
  // A list also finds the beginning of an id, and an action takes only a whole one.
  if (filter.q !== undefined) return null;
  const isAbout = (status: string) => filter.status === status || filter.effect_status === status;
  const isPending = isAbout('pending');
  const isParked = isAbout('parked');
  const these = isParked ? 'these' : 'parked';
  const hasParked = isParked || events.some(({ status, parked_effects }) => status === 'parked' || parked_effects > 0);
  const hasDiscarded = events.some(isDiscarded);
  const canRerun = events.some(({ completions }) => completions === 1);
  return (
    <p class="buttons">
      {(isPending || hasParked) && (
        <a class="button" href={bulkPath(filter, 'retry')}>
          {isPending ? 'Try the failed ones now' : `Retry ${these}`}…
        </a>
      )}
      {!isPending && hasParked && (
        <a class="button plain" href={bulkPath(filter, 'discard')}>
          Discard {these}…
        </a>
      )}
      {hasDiscarded && (
        <a class="button plain" href={bulkPath({ ...filter, status: 'ignored' }, 'retry')}>
          Put discarded events back…
        </a>
      )}
      {canRerun && !isParked && !isPending && Object.keys(filterFields(filter)).length > 0 && (
        <a class="button plain" href={bulkPath(filter, 'rerun')}>
          Run finished events again…
        </a>
      )}
    </p>
  );
}

/** The fields of a filter that its form has. The others come with a link, and are kept as they are. */
const FORM_FIELDS = ['q', 'source', 'type', 'status', 'failure', 'effect_status', 'since'];

const KEPT: Readonly<Record<string, string>> = {
  error: 'With this error, whatever the ids in it',
  until: 'Received before',
  action_at: 'Of the action at',
};

function FilterForm({ filter, sources, types, now }: Pick<ListProps, 'filter' | 'sources' | 'types' | 'now'>) {
  const { source, status, type, failure, effect_status, q, since } = filter;
  const choice = (
    label: string,
    name: string,
    choices: readonly (readonly [value: string, text: string])[],
    chosen: string | undefined,
  ) => (
    <label>
      {label}
      <select name={name}>
        <option value="">any</option>
        {choices.map(([value, text]) => (
          <option value={value} selected={value === chosen}>
            {visible(text)}
          </option>
        ))}
      </select>
    </label>
  );
  const same = (texts: readonly string[]) => texts.map((text) => [text, text] as const);
  const ago = (ms: number) => new Date(now.getTime() - ms).toISOString();
  const times: (readonly [string, string])[] = [
    [ago(3_600_000), 'in the last hour'],
    [`${now.toISOString().slice(0, 10)}T00:00:00.000Z`, 'today (UTC)'],
    [ago(86_400_000), 'in the last 24 h'],
    [ago(7 * 86_400_000), 'in the last 7 days'],
  ];
  if (since) times.push([since.toISOString(), `since ${clock(since.toISOString(), now)}`]);
  const fields = filterFields(filter);
  const kept = Object.entries(fields).filter(([name]) => !FORM_FIELDS.includes(name));
  const set = Object.values(fields).join(', ');
  return (
    <details class="filters">
      <summary>
        Filter{set && ': '}
        <bdi>{visible(set)}</bdi>
      </summary>
      <form method="get" action="/ops/events" aria-label="Filter">
        <label class="search">
          Event id, or its beginning
          <input name="q" value={q} type="search" autocomplete="off" spellcheck={false} />
        </label>
        {/* A filter from an address may name a source that is not configured any more. */}
        {choice('Source', 'source', same([...new Set([...sources, ...(source ? [source] : [])])]), source)}
        <label>
          Type
          <input name="type" value={type} list="types" autocomplete="off" placeholder="any" />
          <datalist id="types">
            {types.map((name) => (
              <option value={name}></option>
            ))}
          </datalist>
        </label>
        {choice('Status', 'status', same(STATUSES), status)}
        {choice('Failure', 'failure', same(FAILURES), failure)}
        {choice('Effects', 'effect_status', same(EFFECT_STATUSES), effect_status)}
        {choice('Received', 'since', times, since?.toISOString())}
        <div class="buttons">
          <button type="submit">Apply</button>
          {set && <a href="/ops/events">Clear</a>}
        </div>
        {kept.map(([name, value]) => (
          <p class="kept">
            <input type="hidden" name={name} value={value} />
            {KEPT[name] ?? name}: <Code value={value} /> <a href={listPath({ ...filter, [name]: undefined })}>Remove</a>
          </p>
        ))}
      </form>
    </details>
  );
}
