import type { ActionName } from '../../db/schema.ts';
import type { EventDetails } from '../../db/views.ts';
import { counted } from '../../shared/counts.ts';
import type { ShownEvent } from '../api.ts';
import { attemptsOf, upcoming } from '../words.ts';
import { Body, Elsewhere } from './body.tsx';
import { ActionFields } from './bulk.tsx';
import { Cause, Failure } from './failure.tsx';
import { Layout, type PageContext } from './layout.tsx';
import {
  Ago,
  Code,
  eventPath,
  Facts,
  Id,
  isDiscarded,
  Limited,
  listPath,
  MAX_ROWS,
  Status,
  Table,
  Text,
  visible,
} from './parts.tsx';
import { Timeline } from './timeline.tsx';

/** A retry usually takes a second or two. */
const PENDING_REFRESH_SECONDS = 2;

/** In characters of an id: a few lines on a phone. */
const MAX_TITLE_LENGTH = 100;

interface EventPageProps extends PageContext {
  readonly event: ShownEvent;
  readonly tenant: string | undefined;
  /** For the script that renews the page: it has the body already. */
  readonly withoutBody: boolean;
}

export function EventPage({ event, tenant, withoutBody, notice, ...context }: EventPageProps) {
  const { source, event_id, type, status, effects } = event;
  const { now } = context;
  const stuck = effects.filter((effect) => effect.status === 'parked').length;
  // An effect that is for later may take days.
  const isForLater = ({ send_at }: Effect) => send_at !== null && Date.parse(send_at) > now.getTime();
  const isPending = status === 'pending' || effects.some((one) => one.status === 'pending' && !isForLater(one));
  return (
    <Layout
      {...context}
      title={`${event_id} · ${source}`}
      current="/ops/events"
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
        {event_id.length > MAX_TITLE_LENGTH ? <Id value={event_id} /> : <Code value={event_id} />}
      </h1>
      <div id="state" data-live>
        <p>
          <EventStatus event={event} stuck={stuck} now={now} />
        </p>
        {notice && <Outcome notice={notice.text} event={event} isPending={isPending} />}
        <Failure event={event} />
        {event.waiting > 0 && (
          <p>
            {counted(event.waiting, 'event')} {event.waiting === 1 ? 'waits' : 'wait'} behind this one.
          </p>
        )}
      </div>
      <div class="columns">
        <div class="side" id="facts" data-live>
          <Actions event={event} />
          <Facts
            rows={[
              ['Source', <Code value={source} />],
              tenant !== undefined && [
                'Tenant',
                <a href={listPath({ source, q: `${tenant}:` })}>
                  <Code value={tenant} />
                </a>,
              ],
              event.original_id !== null && ['Id as it was sent', <Id value={event.original_id} />],
              type !== null && ['Type', <Id value={type} />],
              ['Received', <Ago at={event.received_at} now={now} />],
              event.order_key !== null && ['Order key', <Id value={event.order_key} />],
              ['Attempts', attemptsOf(event)],
              event.summary !== null && ['Summary', <Text value={event.summary} />],
              event.replay_number > 0 && ['Suspected replay', 'its body or its replay key is that of an earlier event'],
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
            <Timeline event={event} now={now} />
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
  const last = event.actions.at(-1)?.action;
  const hasFailedAgain = isFailing && last === 'retry';
  const style = hasFailedAgain ? 'bad' : isParked || isPending ? 'mild' : 'good';
  return (
    <p class={`banner ${style}`} role="status">
      {notice} {hasFailedAgain && 'It has failed again:'}
      {style === 'good' && (last === 'retry' || last === 'rerun') && (
        <>
          It is done. <a href="/ops">What else is parked?</a>
        </>
      )}
    </p>
  );
}

/** What waits for somebody comes first, also if it is only an effect. */
function EventStatus({ event, stuck, now }: { event: ShownEvent; stuck: number; now: Date }) {
  const { status, finished_at } = event;
  const effects = `${counted(stuck, 'effect')} parked`;
  if (stuck > 0 && status !== 'parked') {
    return (
      <>
        <span class="status parked">{effects}</span> <span class="quiet">the event is {status}</span>
      </>
    );
  }
  return (
    <>
      <Status status={status} /> <Waiting event={event} now={now} />
      <span class="quiet">
        {finished_at !== null && <Ago at={finished_at} now={now} />}
        {stuck > 0 && `, with ${effects}`}
      </span>
    </>
  );
}

/** When something happens next, as far as anybody knows. */
function Waiting({ event, now }: { event: ShownEvent; now: Date }) {
  const { status, attempts, not_before, due_at } = event;
  if (status !== 'pending') return null;
  const next = upcoming(not_before ?? due_at, now);
  const queued = next === 'now' ? 'queued' : `queued, and sent again ${next} if nothing happens`;
  return <span class="quiet">{attempts === 0 ? queued : `failed ${attemptsOf(event)} times, next ${next}`}</span>;
}

/** What the buttons act on: the event, or those of its effects that are stuck. */
function subjectOf(
  event: ShownEvent,
  isStuck: (one: Pick<EventDetails, 'not_before' | 'attempts'> & { status: string }) => boolean,
) {
  if (isStuck(event)) return 'this event';
  const names = event.effects.filter(isStuck).map(({ name }) => name);
  if (names.length === 0) return undefined;
  return names.length > 3 ? `its ${names.length} effects` : `its effect ${names.join(', ')}`;
}

function Actions({ event }: Pick<EventPageProps, 'event'>) {
  const { status, completions } = event;
  const parked = subjectOf(event, (one) => one.status === 'parked');
  const waiting = subjectOf(
    event,
    (one) => one.status === 'pending' && one.not_before !== null && (one === event || one.attempts > 0),
  );
  const canRerun = (status === 'done' || status === 'ignored') && completions === 1 && event.body !== null;
  const discarded = isDiscarded(event);
  // The key is in the address, because browsers change line breaks in the fields of a form.
  const form = (action: ActionName, name: string, isMain = false) => (
    <form method="post" action={eventPath(event)}>
      <input type="hidden" name="action" value={action} />
      {action === 'rerun' && <input type="hidden" name="finished_at" value={event.finished_at ?? ''} />}
      <ActionFields action={action} />
      <button type="submit" class={isMain ? 'primary' : 'danger'} data-key={isMain && 'r'}>
        {visible(name)}
      </button>
      {action === 'retry' && <p class="quiet">All attempts start again.</p>}
    </form>
  );
  const folded = (action: ActionName, name: string) => (
    <details>
      <summary>{visible(name)}…</summary>
      {form(action, name)}
    </details>
  );
  if (!parked && !waiting && !canRerun && !discarded) return null;
  return (
    <section class="actions" aria-label="Actions">
      {parked && form('retry', `Retry ${parked}`, true)}
      {!parked && waiting && form('retry', `Try ${waiting} now`, true)}
      {!parked && discarded && form('retry', 'Put this event back and retry it', true)}
      {(parked || waiting) && (
        <p class="keys" hidden>
          <kbd>r</kbd> {parked ? 'retry' : 'try now'}
        </p>
      )}
      {parked && folded('discard', `Discard ${parked}`)}
      {canRerun && folded('rerun', 'Run this event again')}
    </section>
  );
}

type Effect = ShownEvent['effects'][number];

function EffectName({ name, kind, idempotency_key }: Effect) {
  return (
    <>
      <Code value={kind === name ? name : `${name} (${kind})`} />
      <span class="note">
        <Id value={idempotency_key} />
      </span>
    </>
  );
}

function Effects({ effects, now }: { effects: readonly Effect[]; now: Date }) {
  const hasFailed = ({ last_error }: Effect) => last_error !== null;
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
        effects.some(hasFailed) && ['Why', (effect) => (hasFailed(effect) ? <Cause {...effect} /> : ''), 'why'],
      ]}
    />
  );
}
