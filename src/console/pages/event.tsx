import { prettyJson } from '../pretty-json.ts';
import type { ShownEvent } from '../shown-event.ts';
import { failedPaths, timelineOf } from '../timeline.ts';
import { FormToken, Layout, type PageContext, type Visitor } from './layout.tsx';
import { Code, eventPath, HiddenFields, listPath, Status, Text, Time, visible } from './parts.tsx';

/** A retry usually takes a second or two. */
const PENDING_REFRESH_SECONDS = 2;

/** A browser shows this much without effort. The whole body is a click away. */
const MAX_SHOWN = 100_000;

export interface EventPageProps extends PageContext {
  readonly visitor: Visitor;
  readonly event: ShownEvent;
  readonly notice?: string | undefined;
}

export function EventPage({ event, notice, ...context }: EventPageProps) {
  const { source, event_id, type, status } = event;
  const { now, visitor } = context;
  const paths = failedPaths(event);
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
      {notice && (
        <p class="banner good" role="status">
          {notice}
        </p>
      )}
      {event.last_error !== null && (
        <section class={status === 'parked' ? 'banner bad' : 'banner'} aria-label="Error">
          <pre>{visible(event.last_error)}</pre>
          {paths.length > 0 && (
            <dl class="facts">
              {paths.map(({ path, value }) => (
                <>
                  <dt>
                    <Code value={path} />
                  </dt>
                  <dd>{value === undefined ? 'is not in the payload' : <Code value={value} />}</dd>
                </>
              ))}
            </dl>
          )}
        </section>
      )}
      <Actions event={event} visitor={visitor} />

      <h2>What happened</h2>
      <ol class="timeline">
        {timelineOf(event).map(({ at, what, note, isFuture }) => (
          <li class={isFuture ? 'future' : undefined}>
            <Text value={what} />
            {note !== undefined && (
              <>
                {' '}
                <Text value={note} />
              </>
            )}
            <br />
            <Time at={at} now={now} />
          </li>
        ))}
      </ol>

      <h2>Facts</h2>
      <dl class="facts">
        <dt>Source</dt>
        <dd>
          <Text value={source} />
        </dd>
        <dt>Type</dt>
        <dd>{type === null ? '–' : <Text value={type} />}</dd>
        <dt>Attempts</dt>
        <dd>{event.attempts}</dd>
        <dt>Summary</dt>
        <dd>{event.summary === null ? '–' : <Text value={event.summary} />}</dd>
        {event.replay_number > 0 && (
          <>
            <dt>Suspected replay</dt>
            <dd>number {event.replay_number} with the same replay key</dd>
          </>
        )}
      </dl>

      <h2>Effects</h2>
      <Effects event={event} now={now} />

      <h2>Body</h2>
      <Body event={event} />
      {event.headers !== null && Object.keys(event.headers).length > 0 && (
        <details>
          <summary>Headers</summary>
          <dl class="facts">
            {Object.entries(event.headers).map(([name, value]) => (
              <>
                <dt>
                  <Code value={name} />
                </dt>
                <dd>
                  <Text value={value} />
                </dd>
              </>
            ))}
          </dl>
        </details>
      )}
    </Layout>
  );
}

function Actions({ event, visitor }: Pick<EventPageProps, 'event' | 'visitor'>) {
  const { status, effects, completions } = event;
  const isParked = status === 'parked' || effects.some((effect) => effect.status === 'parked');
  const canRerun = (status === 'done' || status === 'ignored') && completions === 1 && event.body !== null;
  // In the address, because browsers change line breaks in the fields of a form.
  const address = eventPath(event);
  const fields = (action: string) => <HiddenFields fields={{ action }} />;
  return (
    <div class="actions">
      {isParked && (
        <form method="post" action={address}>
          <FormToken visitor={visitor} />
          {fields('retry')}
          <button type="submit" class="primary">
            Retry
          </button>
        </form>
      )}
      {isParked && (
        <details>
          <summary class="button">Discard…</summary>
          <form method="post" action={address}>
            <FormToken visitor={visitor} />
            {fields('discard')}
            <label>
              Reason, which is kept with the event
              <input name="reason" required maxlength={500} autocomplete="off" />
            </label>
            <button type="submit" class="danger">
              Discard
            </button>
          </form>
        </details>
      )}
      {canRerun && (
        <details>
          <summary class="button">Run again…</summary>
          <form method="post" action={address}>
            <FormToken visitor={visitor} />
            {fields('rerun')}
            <RerunFields />
            <button type="submit" class="danger">
              Run again
            </button>
          </form>
        </details>
      )}
    </div>
  );
}

export function RerunFields() {
  return (
    <>
      <label class="check">
        <input type="checkbox" name="understood" value="yes" required />
        <span>
          The handler runs again, and its changes are made <strong>a second time</strong>
        </span>
      </label>
      <label class="check">
        <input type="checkbox" name="effects" value="yes" />
        <span>Send its effects again as well, with the same idempotency keys</span>
      </label>
    </>
  );
}

function Effects({ event: { effects }, now }: Pick<EventPageProps, 'event'> & { now: Date }) {
  if (effects.length === 0) return <p class="empty">This event has no effects.</p>;
  return (
    <table class="cards">
      <thead>
        <tr>
          <th scope="col">Effect</th>
          <th scope="col">Status</th>
          <th scope="col">Attempts</th>
          <th scope="col">Sent</th>
          <th scope="col">Idempotency key</th>
          <th scope="col">Error</th>
        </tr>
      </thead>
      <tbody>
        {effects.map((effect) => (
          <tr>
            <th scope="row">
              <Code value={effect.name} />
              {effect.kind !== effect.name && (
                <span class="quiet">
                  {' '}
                  (<Text value={effect.kind} />)
                </span>
              )}
            </th>
            <td data-label="Status">
              <Status status={effect.status} />
            </td>
            <td data-label="Attempts">{effect.attempts}</td>
            <td data-label="Sent">{effect.sent_at === null ? '–' : <Time at={effect.sent_at} now={now} />}</td>
            <td data-label="Idempotency key" class="key">
              <code>{effect.idempotency_key}</code>
            </td>
            <td data-label="Error" class="error">
              {effect.last_error === null ? '–' : <Text value={effect.last_error} />}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Body({ event }: Pick<EventPageProps, 'event'>) {
  const { body } = event;
  if (body === null) {
    return <p class="empty">The body has been deleted: bodies of finished events are kept for BODY_DAYS days.</p>;
  }
  const raw = (
    <p>
      <a href={eventPath(event).replace('/ops/event?', '/ops/event/body?')}>Raw body</a>{' '}
      <span class="quiet">{body.length.toLocaleString('en')} characters</span>
    </p>
  );
  const shown = prettyJson(body) ?? body;
  const isCut = shown.length > MAX_SHOWN;
  return (
    <>
      {raw}
      {/* tabindex: a keyboard must be able to scroll it. */}
      <section class="body" aria-label="Body" tabindex={0}>
        <pre>{visible(isCut ? shown.slice(0, MAX_SHOWN) : shown)}</pre>
      </section>
      {isCut && <p class="quiet">This is the beginning. The raw body has the rest.</p>}
    </>
  );
}
