import type { ActionName } from '../../db/schema.ts';
import { parseJson } from '../../shared/json.ts';
import { jsonAt } from '../../verify/places.ts';
import type { ShownEvent } from '../api.ts';
import { ActionFields } from './bulk.tsx';
import { Layout, type PageContext } from './layout.tsx';
import { Code, eventPath, Facts, Failed, listPath, prettyJson, Status, Table, Text, Time, visible } from './parts.tsx';

/** A retry usually takes a second or two. */
const PENDING_REFRESH_SECONDS = 2;

/** A browser shows this much without effort. The whole body is a click away. */
const MAX_SHOWN = 100_000;

interface EventPageProps extends PageContext {
  readonly event: ShownEvent;
}

export function EventPage({ event, ...context }: EventPageProps) {
  const { source, event_id, type, status } = event;
  const { now } = context;
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
      <ol class="timeline">
        {timelineOf(event).map(({ at, what, note, isFuture }) => (
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
      {failed_paths !== null && (
        <Facts
          rows={valuesAt(failed_paths, body).map(({ path, value }) => [
            path === '' ? 'the whole body' : <Code value={path} />,
            value === undefined ? 'is not in the payload' : <Code value={value} />,
          ])}
        />
      )}
    </section>
  );
}

function Actions({ event }: Pick<EventPageProps, 'event'>) {
  const { status, effects, completions } = event;
  const isParked = status === 'parked' || effects.some((effect) => effect.status === 'parked');
  const canRerun = (status === 'done' || status === 'ignored') && completions === 1 && event.body !== null;
  const form = (action: ActionName, name: string) => (
    // The key is in the address, because browsers change line breaks in the fields of a form.
    <form method="post" action={eventPath(event)}>
      <input type="hidden" name="action" value={action} />
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
      rows={effects}
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
  const shown = prettyJson(body) ?? body;
  const isCut = shown.length > MAX_SHOWN;
  return (
    <>
      <p>
        <a href={eventPath(event).replace('/ops/event?', '/ops/event/body?')}>Raw body</a>{' '}
        <span class="quiet">{body.length.toLocaleString('en')} characters</span>
      </p>
      {/* tabindex: a keyboard must be able to scroll it. */}
      <section class="body" aria-label="Body" tabindex={0}>
        <pre>{visible(isCut ? shown.slice(0, MAX_SHOWN) : shown)}</pre>
      </section>
      {isCut && <p class="quiet">This is the beginning. The raw body has the rest.</p>}
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

/** The values at the paths that did not match the handler's schema. Undefined where the payload has none. */
function valuesAt(paths: readonly string[], body: string | null): { path: string; value: string | undefined }[] {
  const parsed = parseJson(body ?? '');
  const payload = parsed.outcome === 'parsed' ? parsed.json : undefined;
  return paths.map((path) => {
    const value = JSON.stringify(path === '' ? payload : jsonAt(path, payload));
    return { path, value: value?.length > MAX_VALUE_LENGTH ? `${value.slice(0, MAX_VALUE_LENGTH)}…` : value };
  });
}

/** A value is shown beside its path, in one line. */
const MAX_VALUE_LENGTH = 120;
