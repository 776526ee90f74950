import type { ActionName } from '../../db/schema.ts';
import { parseJson } from '../../shared/json.ts';
import { jsonAt } from '../../verify/places.ts';
import type { ShownEvent } from '../api.ts';
import { ActionFields } from './bulk.tsx';
import { Layout, type PageContext } from './layout.tsx';
import {
  beginningOf,
  Code,
  counted,
  eventPath,
  Facts,
  Failed,
  listPath,
  MAX_SHOWN,
  Status,
  Table,
  Text,
  Time,
  visible,
} from './parts.tsx';

/** A retry usually takes a second or two. */
const PENDING_REFRESH_SECONDS = 2;

/** An event may have a thousand effects, and a script may retry it as often. */
const MAX_ROWS = 200;

interface EventPageProps extends PageContext {
  readonly event: ShownEvent;
}

export function EventPage({ event, ...context }: EventPageProps) {
  const { source, event_id, type, status } = event;
  const { now } = context;
  const moments = timelineOf(event);
  return (
    <Layout
      {...context}
      title={`${event_id} · ${source}`}
      refresh={status === 'pending' ? PENDING_REFRESH_SECONDS : undefined}
      summary={`The event is ${status}`}
    >
      <p class="crumbs">
        <a href="/ops/events">Events</a> /{' '}
        <a href={listPath({ source })}>
          <Text value={source} />
        </a>
      </p>
      <h1>
        <Code value={event_id} /> <Status status={status} />
      </h1>
      <Failure event={event} />
      <Actions event={event} />

      <h2>What happened</h2>
      <Limited to="last" of={moments.length} noun="moment" />
      <ol class="timeline">
        {moments.slice(-MAX_ROWS).map(({ at, what, note, isFuture }) => (
          <li class={isFuture ? 'future' : undefined}>
            <Text value={what} /> {note && <Text value={note} />}
            <br />
            <Time at={at} now={now} />
          </li>
        ))}
      </ol>

      <h2>Facts</h2>
      <Facts
        rows={[
          ['Source', <Text value={source} />],
          ['Type', type === null ? '–' : <Text value={type} />],
          ['Attempts', event.attempts],
          ['Summary', event.summary === null ? '–' : <Text value={event.summary} />],
          ['Suspected replay', event.replay_number === 0 ? 'no' : `number ${event.replay_number} with its replay key`],
        ]}
      />

      <h2>Effects</h2>
      <Limited to="first" of={event.effects.length} noun="effect" />
      <Effects event={event} now={now} />

      <h2>Body</h2>
      <Body event={event} />
      {event.headers !== null && Object.keys(event.headers).length > 0 && (
        <details>
          <summary>Headers</summary>
          <Facts
            rows={Object.entries(event.headers).map(([name, value]) => [<Code value={name} />, <Text value={value} />])}
          />
        </details>
      )}
    </Layout>
  );
}

function Failure({ event }: Pick<EventPageProps, 'event'>) {
  const { status, failure, last_error, failed_paths, body } = event;
  if (failure === null && last_error === null) return null;
  return (
    <section class={status === 'parked' ? 'banner bad' : 'banner'} aria-label="Error">
      {failure !== null && (
        <a href={listPath({ failure })}>
          <strong>{failure}</strong>
        </a>
      )}
      {last_error !== null && <pre>{visible(last_error)}</pre>}
      {failed_paths !== null && <FailedPaths paths={failed_paths} body={body} />}
    </section>
  );
}

function Limited({ to, of, noun }: { to: 'first' | 'last'; of: number; noun: string }) {
  return of > MAX_ROWS ? <p class="quiet">{`The ${to} ${MAX_ROWS} of ${counted(of, noun)}.`}</p> : null;
}

/** A value is shown beside its path, in one line. */
const MAX_VALUE_LENGTH = 120;

/** The values at the paths that did not match the schema. A long body is not parsed for them. */
function FailedPaths({ paths, body }: { paths: readonly string[]; body: string | null }) {
  const parsed = parseJson(body !== null && body.length <= MAX_SHOWN ? body : '');
  const valueAt = (path: string) => {
    if (parsed.outcome === 'malformed') return '–';
    const value = JSON.stringify(path === '' ? parsed.json : jsonAt(path, parsed.json));
    if (value === undefined) return 'is not in the payload';
    return <Code value={value.length > MAX_VALUE_LENGTH ? `${value.slice(0, MAX_VALUE_LENGTH)}…` : value} />;
  };
  return <Facts rows={paths.map((path) => [path === '' ? 'the whole body' : <Code value={path} />, valueAt(path)])} />;
}

function Actions({ event }: Pick<EventPageProps, 'event'>) {
  const { status, effects, completions } = event;
  const isParked = status === 'parked' || effects.some((effect) => effect.status === 'parked');
  const canRerun = (status === 'done' || status === 'ignored') && completions === 1 && event.body !== null;
  const form = (action: ActionName, name: string) => (
    // The key is in the address, because browsers change line breaks in the fields of a form.
    <form method="post" action={eventPath(event)}>
      <input type="hidden" name="action" value={action} />
      {action === 'rerun' && <input type="hidden" name="finished_at" value={event.finished_at ?? ''} />}
      {action !== 'retry' && <ActionFields action={action} />}
      <button type="submit" class={action === 'retry' ? 'primary' : 'danger'}>
        {name}
      </button>
    </form>
  );
  const folded = (action: ActionName, name: string) => (
    <details>
      <summary class="button">{name}…</summary>
      {form(action, name)}
    </details>
  );
  return (
    <div class="actions">
      {isParked && form('retry', 'Retry')}
      {isParked && folded('discard', 'Discard')}
      {canRerun && folded('rerun', 'Run again')}
    </div>
  );
}

function Effects({ event: { effects }, now }: Pick<EventPageProps, 'event'> & { now: Date }) {
  if (effects.length === 0) return <p class="empty">This event has no effects.</p>;
  return (
    <Table
      rows={effects.slice(0, MAX_ROWS)}
      columns={[
        ['Effect', ({ name, kind }) => <Code value={kind === name ? name : `${name} (${kind})`} />],
        ['Status', Status],
        ['Attempts', ({ attempts }) => attempts],
        ['Sent', ({ sent_at }) => (sent_at === null ? '–' : <Time at={sent_at} now={now} />)],
        ['Idempotency key', ({ idempotency_key }) => <code>{idempotency_key}</code>, 'key'],
        ['Error', Failed, 'error'],
      ]}
    />
  );
}

function Body({ event }: Pick<EventPageProps, 'event'>) {
  const { body } = event;
  if (body === null) {
    return <p class="empty">The body has been deleted: bodies of finished events are kept for BODY_DAYS days.</p>;
  }
  const shown = beginningOf(body);
  return (
    <>
      <p>
        <a href={eventPath(event).replace('/ops/event?', '/ops/event/body?')}>Raw body</a>{' '}
        <span class="quiet">{counted(event.body_length ?? 0, 'character')}</span>
      </p>
      {/* tabindex: a keyboard must be able to scroll it. */}
      <section class="body" aria-label="Body" tabindex={0}>
        <pre>{visible(shown)}</pre>
      </section>
      {Math.max(shown.length, body.length) >= MAX_SHOWN && (
        <p class="quiet">This is the beginning. The raw body has the rest.</p>
      )}
    </>
  );
}

interface Moment {
  readonly at: string;
  readonly what: string;
  /** Written by an operator, so it is shown like any other stranger's text. */
  readonly note?: string | undefined;
  readonly isFuture?: boolean;
}

const DONE: Readonly<Record<ActionName, string>> = { retry: 'retried', discard: 'discarded', rerun: 'run again' };

/** The life of an event, oldest first, as far as its row tells. */
function timelineOf(event: ShownEvent): Moment[] {
  const { status, attempts, effects, actions } = event;
  const moments: Moment[] = [{ at: event.received_at, what: 'received, and claimed in Postgres' }];
  if (event.occurred_at !== null) moments.push({ at: event.occurred_at, what: "happened, by the sender's clock" });
  for (const { at, who, action, reason } of actions) {
    // A later version may know more actions.
    moments.push({ at, what: DONE[action] ?? action, note: reason === null ? `by ${who}` : `by ${who}: ${reason}` });
  }
  if (event.finished_at !== null) {
    const tries = `${attempts} attempt${attempts === 1 ? '' : 's'}`;
    moments.push({ at: event.finished_at, what: `${status} after ${tries}` });
  }
  for (const { name, status: sent, sent_at, not_before } of effects) {
    if (sent_at !== null) moments.push({ at: sent_at, what: 'effect sent', note: name });
    if (sent === 'pending' && not_before !== null) {
      moments.push({ at: not_before, what: 'effect sent again, not earlier', note: name, isFuture: true });
    }
  }
  if (status === 'pending') {
    const what =
      attempts > 0
        ? `next attempt (${attempts} failed so far), not earlier`
        : 'another ticket is sent, if none arrived';
    moments.push({ at: event.not_before ?? event.due_at, what, isFuture: true });
  }
  return moments.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}
