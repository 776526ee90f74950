import type { Child } from 'hono/jsx';
import { type ActionName, MEANING, UNDO } from '../../db/schema.ts';
import type { EventDetails } from '../../db/views.ts';
import { parseJson } from '../../shared/json.ts';
import { jsonAt } from '../../verify/places.ts';
import type { ShownEvent } from '../api.ts';
import { encodeResult } from '../input.ts';
import { attemptsOf, beginningOfError, counted, placeOf, relative, wasText } from '../words.ts';
import { Body, MAX_SHOWN } from './body.tsx';
import { ActionFields } from './bulk.tsx';
import { Layout, type PageContext } from './layout.tsx';
import { Ago, Cause, Code, eventPath, Facts, Id, listPath, Status, Table, Text, Time, visible } from './parts.tsx';

/** A retry usually takes a second or two. */
const PENDING_REFRESH_SECONDS = 2;

/** An event may have a thousand effects, and a script may retry it as often. */
const MAX_ROWS = 200;

interface EventPageProps extends PageContext {
  readonly event: ShownEvent;
  /** For the script that renews the page: it has the body already. */
  readonly withoutBody: boolean;
}

export function EventPage({ event, withoutBody, notice, ...context }: EventPageProps) {
  const { source, event_id, type, status, effects } = event;
  const { now } = context;
  const moments = timelineOf(event);
  const stuck = effects.filter((effect) => effect.status === 'parked').length;
  const isPending = status === 'pending' || effects.some((effect) => effect.status === 'pending');
  return (
    <Layout
      {...context}
      title={`${event_id} · ${source}`}
      refresh={isPending ? PENDING_REFRESH_SECONDS : undefined}
      summary={`The event is ${status}`}
    >
      <p class="crumbs">
        <a href="/ops/events">Events</a> /{' '}
        <a href={listPath({ source })}>
          <Text value={source} />
        </a>
        {type !== null && (
          <>
            {' '}
            /{' '}
            <a href={listPath({ source, type })}>
              <Text value={type} />
            </a>
          </>
        )}
      </p>
      <h1 data-copy={event_id}>
        <Code value={event_id} />
      </h1>
      <div id="state" data-live>
        <p>
          <Status status={status} /> <Waiting event={event} now={now} />
          {stuck > 0 && <strong class="bad">{counted(stuck, 'effect')} parked</strong>}
        </p>
        {notice && <Outcome notice={notice.text} event={event} isPending={isPending} />}
        <Failure event={event} />
      </div>
      <div class="columns">
        <div class="side" id="facts" data-live>
          <Actions event={event} />
          <Facts
            rows={[
              ['Attempts', attemptsOf(event)],
              ...(event.summary === null ? [] : [['Summary', <Text value={event.summary} />] as const]),
              ...(event.replay_number === 0
                ? []
                : [['Suspected replay', `number ${event.replay_number} with its replay key`] as const]),
            ]}
          />
        </div>
        <div class="content">
          <div id="story" data-live>
            {effects.length > 0 && (
              <section aria-label="Effects">
                <h2>Effects</h2>
                <Limited to="first" of={effects.length} noun="effect" />
                <Effects effects={effects} now={now} />
              </section>
            )}
            <section aria-label="What happened">
              <h2>What happened</h2>
              <Limited to="last" of={moments.length} noun="moment" />
              <ol class="timeline">
                {moments.slice(-MAX_ROWS).map(({ at, what, note, style }) => (
                  <li class={style}>
                    <span>
                      <Text value={note ? `${what}:` : what} /> {note && <Text value={note} />}
                    </span>
                    <Time at={at} now={now} />
                  </li>
                ))}
              </ol>
            </section>
          </div>
          {!withoutBody && (
            <div class="rest">
              <h2>Body</h2>
              <Body event={event} />
              <Elsewhere event={event} />
            </div>
          )}
        </div>
      </div>
    </Layout>
  );
}

/** What became of the last action so far. It is renewed like the state of the event. */
function Outcome({ notice, event, isPending }: { notice: string; event: ShownEvent; isPending: boolean }) {
  const all = [event, ...event.effects];
  const isParked = all.some(({ status }) => status === 'parked');
  const isFailing = isParked ? !isPending : all.some(({ status, attempts }) => status === 'pending' && attempts > 0);
  const hasFailedAgain = isFailing && event.actions.at(-1)?.action === 'retry';
  const style = hasFailedAgain ? 'bad' : isParked || isPending ? 'mild' : 'good';
  return (
    <p class={`banner ${style}`} role="status">
      {notice} {hasFailedAgain && 'It has failed again:'}
    </p>
  );
}

/** When something happens next, as far as anybody knows. */
function Waiting({ event, now }: { event: ShownEvent; now: Date }) {
  const { status, attempts, not_before, due_at } = event;
  if (status !== 'pending') return null;
  const next = relative(not_before ?? due_at, now);
  const isDue = !next.startsWith('in ');
  return (
    <span class="quiet">
      {attempts === 0
        ? `queued${isDue ? '' : `, and again ${next} if nothing happens`}`
        : `failed ${attemptsOf(event)} times, next ${isDue ? 'now' : next}`}
    </span>
  );
}

function Failure({ event }: Pick<EventPageProps, 'event'>) {
  const { status, failure, last_error, failed_paths, position, body } = event;
  if (failure === null && last_error === null) return null;
  const place = placeOf(position);
  const error = last_error ?? '';
  const beginning = beginningOfError(error);
  return (
    <section class={status === 'parked' ? 'banner bad' : 'banner'} aria-label="Why it failed">
      {error !== '' && (
        <p class="message">
          <Text value={beginning} />
        </p>
      )}
      {beginning !== error && (
        <details>
          <summary>The whole error</summary>
          <pre data-copy={error}>{visible(error)}</pre>
        </details>
      )}
      <p class="origin">
        {failure !== null && (
          <span>
            <a href={listPath({ failure, status: 'parked' })}>{failure}</a>: {MEANING[failure]}
          </span>
        )}
        {place ? (
          <span>
            in <code>{place.path}</code>
          </span>
        ) : (
          position !== null && (
            <span class="bundle">
              at <Code value={position} />
              {position.includes('index.js:') && (
                <>
                  {' '}
                  of the bundle. This command translates it:{' '}
                  <code data-copy={`npm run ops -- position '${position}'`}>npm run ops -- position …</code>
                </>
              )}
            </span>
          )
        )}
      </p>
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

/** What the buttons act on: the event, or those of its effects that are stuck. */
function subjectOf({ status, effects }: ShownEvent, isStuck: (one: StuckFields) => boolean, ofEvent: StuckFields) {
  if (isStuck(ofEvent)) return 'this event';
  const names = effects.filter(isStuck).map(({ name }) => name);
  if (names.length === 0) return undefined;
  return names.length > 3 || status === 'parked' ? `its ${names.length} effects` : `its effect ${names.join(', ')}`;
}

type StuckFields = Pick<EventDetails, 'not_before'> & { readonly status: string };

function Actions({ event }: Pick<EventPageProps, 'event'>) {
  const { status, completions, actions } = event;
  const parked = subjectOf(event, (one) => one.status === 'parked', event);
  const waiting = subjectOf(event, (one) => one.status === 'pending' && one.not_before !== null, event);
  const canRerun = (status === 'done' || status === 'ignored') && completions === 1 && event.body !== null;
  const last = actions.at(-1);
  const isDiscarded = status === 'ignored' && completions === 0 && last?.action === 'discard';
  // The key is in the address, because browsers change line breaks in the fields of a form.
  const form = (action: ActionName, name: string, isMain = false) => (
    <form method="post" action={eventPath(event)}>
      <input type="hidden" name="action" value={action} />
      {action === 'rerun' && <input type="hidden" name="finished_at" value={event.finished_at ?? ''} />}
      <ActionFields action={action} />
      <button type="submit" class={isMain ? 'primary' : 'danger'} data-key={isMain && 'r'}>
        {visible(name)}
      </button>
    </form>
  );
  const folded = (action: ActionName, name: string) => (
    <details>
      <summary>{visible(name)}…</summary>
      {form(action, name)}
    </details>
  );
  if (!parked && !waiting && !canRerun && !isDiscarded) return null;
  return (
    <section class="actions" aria-label="Actions">
      {parked && form('retry', `Retry ${parked}`, true)}
      {!parked && waiting && form('retry', `Try ${waiting} now`, true)}
      {parked && folded('discard', `Discard ${parked}`)}
      {canRerun && folded('rerun', 'Run this event again')}
      {isDiscarded && (
        <form method="post" action={eventPath(event).replace('/ops/event?', '/ops/undo?')}>
          <input
            type="hidden"
            name="done"
            value={encodeResult({
              action: 'discard',
              at: new Date(last.at),
              events: 1,
              effects: 0,
              received: [new Date(event.received_at), new Date(event.received_at)],
            })}
          />
          <button type="submit">Take the discard back</button>
        </form>
      )}
    </section>
  );
}

const WHY = [
  'Why',
  (effect: ShownEvent['effects'][number]) => (effect.last_error === null ? '' : <Cause {...effect} />),
  'why',
] as const;

function EffectName({ name, kind, idempotency_key }: ShownEvent['effects'][number]) {
  return (
    <>
      <Code value={kind === name ? name : `${name} (${kind})`} />
      <span class="note">
        <Id value={idempotency_key} />
      </span>
    </>
  );
}

function Effects({ effects, now }: { effects: ShownEvent['effects']; now: Date }) {
  return (
    <Table
      caption="Effects"
      rows={effects.slice(0, MAX_ROWS)}
      edge={({ status }) => status}
      columns={[
        ['Effect and its idempotency key', EffectName],
        ['Status', Status, 'state'],
        ['Attempts', attemptsOf, 'number'],
        ['Sent', ({ sent_at }) => <Ago at={sent_at} never="–" now={now} />, 'when'],
        ...(effects.some(({ last_error }) => last_error !== null) ? [WHY] : []),
      ]}
    />
  );
}

/** The same event in the API, on the command line and in the log. */
function Elsewhere({ event }: Pick<EventPageProps, 'event'>) {
  const { source, event_id, headers } = event;
  const api = `/ops/api/events/${encodeURIComponent(source)}/${encodeURIComponent(event_id)}`;
  const rows: [Child, Child][] = Object.entries(headers ?? {}).map(([name, value]) => [
    <Code value={name} />,
    <Text value={value} />,
  ]);
  return (
    <>
      {rows.length > 0 && (
        <details>
          <summary>Headers</summary>
          <Facts rows={rows} />
        </details>
      )}
      <details>
        <summary>Deliveries, log and API</summary>
        <Facts
          rows={[
            [
              'Its deliveries',
              <>
                are lines of the receiver's log: <Code value={`step = "delivery" and event_id = "${event_id}"`} />
              </>,
            ],
            ['Its work', <Code value={`(step = "completion" or step = "effect") and event_id = "${event_id}"`} />],
            ['API', <a href={api}>{visible(api)}</a>],
            ['Command', <Code value={`npm run ops -- show ${source} ${event_id}`} />],
          ]}
        />
      </details>
    </>
  );
}

interface Moment {
  readonly at: string;
  readonly what: string;
  /** Written by an operator, so it is shown like any other stranger's text. */
  readonly note?: string | undefined;
  readonly style?: string;
}

const DONE: Readonly<Record<ActionName | typeof UNDO, string>> = {
  retry: 'retried',
  discard: 'discarded',
  rerun: 'run again',
  [UNDO]: 'parked again',
};

/** The life of an event, oldest first, as far as its row tells. */
function timelineOf(event: ShownEvent): Moment[] {
  const { status, attempts, effects, actions, completions } = event;
  const moments: Moment[] = [{ at: event.received_at, what: 'received, and claimed in Postgres' }];
  if (event.occurred_at !== null) moments.push({ at: event.occurred_at, what: "happened, by the sender's clock" });
  for (const { at, who, action, reason, was } of actions) {
    if (was?.finished_at) {
      moments.push({ at: was.finished_at, what: wasText(was), note: was.error ?? undefined, style: was.status });
    }
    // A later version may know more actions.
    // When it had failed while it waited is not stored, only how often.
    const before = was?.finished_at === null && was.attempts > 0 ? ` after ${counted(was.attempts, 'attempt')}` : '';
    const why = before && was?.error ? ` (${was.error})` : '';
    const what = `${DONE[action] ?? action}${before}${why} by ${who}`;
    moments.push({ at, what, note: reason ?? undefined });
  }
  if (event.finished_at !== null) {
    // A discard changes the status of what was parked, and not when that was.
    const then = status === 'ignored' && completions === 0 ? 'parked' : status;
    moments.push({ at: event.finished_at, what: wasText({ status: then, attempts }), style: then });
  }
  for (const { name, status: sent, sent_at, not_before } of effects) {
    if (sent_at !== null) moments.push({ at: sent_at, what: `effect ${name} sent`, style: 'sent' });
    if (sent === 'pending' && not_before !== null) {
      moments.push({ at: not_before, what: `effect ${name} sent again, not earlier`, style: 'future' });
    }
  }
  if (status === 'pending') {
    const what =
      attempts > 0
        ? `next attempt (${attempts} failed so far), not earlier`
        : 'another ticket is sent, if none arrived';
    moments.push({ at: event.not_before ?? event.due_at, what, style: 'future' });
  }
  return moments.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}
