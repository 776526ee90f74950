import { MAX_RERUN, type Matching } from '../../db/actions.ts';
import { type ActionName, MEANING } from '../../db/schema.ts';
import type { EventFilter } from '../../db/views.ts';
import { fieldsOf, MAX_REASON_LENGTH } from '../input.ts';
import { counted, countedBoth } from '../words.ts';
import { Layout, type PageContext } from './layout.tsx';
import { Code, eventPath, Id, listPath, oneLine, Table } from './parts.tsx';

interface BulkProps extends PageContext {
  readonly action: ActionName;
  readonly filter: EventFilter;
  readonly matching: Matching;
  /** Why the last try did not happen. */
  readonly refused?: string | undefined;
}

const VERBS: Readonly<Record<ActionName, string>> = { retry: 'Retry', discard: 'Discard', rerun: 'Run again:' };

const CONSEQUENCES: Readonly<Record<ActionName, string>> = {
  retry:
    'Each gets all its attempts back, and is tried at once. What fails again is parked again. You can stop those that have not begun.',
  discard:
    'Events become ignored, and can be put back. Parked effects are deleted, and are never sent: that can not be taken back.',
  rerun: 'Their handlers run once more. This can not be taken back.',
};

/** Asks back before an action on many events. What is sent holds the number that the operator saw. */
export function Bulk({ action, filter, matching, refused, ...context }: BulkProps) {
  const { groups, matching: events } = matching;
  const total = { events: sum(groups, 'events'), effects: sum(groups, 'effects') };
  const question = `${VERBS[action]} ${countedBoth(total)}`;
  const isTooMany = action === 'rerun' && events > MAX_RERUN;
  const fields = Object.entries(fieldsOf(filter));
  return (
    <Layout {...context} title={question}>
      <p class="crumbs">
        <a href={listPath(filter)}>Back to the list</a>
      </p>
      <h1>{isTooMany ? `More than ${counted(MAX_RERUN, 'event')} match` : `${question}?`}</h1>
      {refused && (
        <p class="banner bad" role="alert">
          {refused}
        </p>
      )}
      {events === 0 && (
        <p class="empty">
          There is nothing to {action}. <a href={listPath(filter)}>Back to the list</a>
        </p>
      )}
      {isTooMany && (
        <p class="banner">
          At most {MAX_RERUN.toLocaleString('en')} run again at a time, because their changes are made a second time.
          Choose fewer: of a source, a type, or a shorter time.
        </p>
      )}
      {events > 0 && !isTooMany && (
        <>
          <p class="lead">{CONSEQUENCES[action]}</p>
          <p class="origin">
            <span>{fields.length === 0 ? ALL[action] : 'Chosen by'}</span>
            {fields.map(([name, value]) => (
              <span>
                {NAMES[name] ?? name} <Code value={value} />
              </span>
            ))}
          </p>
          <Table
            caption="What it is about"
            rows={groups}
            columns={[
              ['Source', ({ source }) => <Code value={source} />],
              [
                'Failure',
                ({ failure }) =>
                  failure === null ? (
                    '–'
                  ) : (
                    <span class="tag" title={MEANING[failure]}>
                      {failure}
                    </span>
                  ),
              ],
              ['Events', ({ events: count }) => count.toLocaleString('en'), 'number'],
              ['Effects', ({ effects: count }) => count.toLocaleString('en'), 'number'],
              [
                'The first events',
                ({ source, event_ids, events, effects }) => (
                  <span class="ids">
                    {event_ids.map((event_id) => (
                      <a href={eventPath({ source, event_id })} aria-label={oneLine(event_id)}>
                        <Id value={event_id} />
                      </a>
                    ))}
                    {events + effects > event_ids.length && <span class="quiet">and others</span>}
                  </span>
                ),
                'wide',
              ],
            ]}
          />
          <form class="confirm" method="post" action={`/ops/bulk?${new URLSearchParams(fieldsOf(filter))}`}>
            <input type="hidden" name="action" value={action} />
            <input type="hidden" name="expected" value={events} />
            <ActionFields action={action} />
            <div class="buttons">
              <button
                type="submit"
                class={action === 'retry' ? 'primary' : 'danger'}
                data-key={action === 'retry' && 'r'}
              >
                {question}
              </button>
              <a class="button plain" href={listPath(filter)}>
                Back to the list
              </a>
            </div>
          </form>
        </>
      )}
    </Layout>
  );
}

const ALL: Readonly<Record<ActionName, string>> = {
  retry: 'All that is parked',
  discard: 'All that is parked',
  rerun: 'All finished events whose bodies are still there',
};

/** The fields of a filter whose names in the address say too little. */
const NAMES: Readonly<Record<string, string>> = {
  q: 'event id',
  effect_status: 'its effects',
  error: 'such an error',
  since: 'received since',
  until: 'received before',
};

function sum(groups: Matching['groups'], field: 'events' | 'effects'): number {
  return groups.reduce((total, group) => total + group[field], 0);
}

/** What an operator has to say for an action. */
export function ActionFields({ action }: { action: ActionName }) {
  return (
    <>
      <label>
        Reason{action === 'discard' ? '' : ' (may be empty)'}, kept with the event
        <input name="reason" required={action === 'discard'} maxlength={MAX_REASON_LENGTH} autocomplete="off" />
      </label>
      {action === 'rerun' && (
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
      )}
    </>
  );
}

/** What an action on many events has done, as it is in the address. */
export interface Result {
  readonly action: ActionName;
  readonly at: Date;
  readonly events: number;
  readonly effects: number;
  readonly received: readonly [Date, Date] | undefined;
}

interface ResultProps extends PageContext {
  readonly result: Result;
  readonly filter: EventFilter;
  readonly progress: { readonly pending: number; readonly parked: number };
}

const DONE: Readonly<Record<ActionName, string>> = { retry: 'Retried', discard: 'Discarded', rerun: 'Running again:' };

/** What becomes of it, while it happens. */
export function BulkResult({ result, filter, progress, ...context }: ResultProps) {
  const { action, events, effects } = result;
  const total = events + effects;
  const { pending, parked } = progress;
  const isOver = action === 'discard' || pending === 0;
  const undo =
    action === 'discard' ? events > 0 && 'Put the events back' : pending > 0 && 'Stop those that have not begun';
  const title = `${DONE[action]} ${countedBoth(result)}`;
  return (
    <Layout
      {...context}
      title={title}
      refresh={isOver ? undefined : 2}
      summary={`${pending} pending, ${parked} parked again`}
    >
      <div id="result" data-live>
        <h1>{title}</h1>
        {action !== 'discard' && (
          <>
            <p class="lead">
              {isOver ? 'Nothing of it is pending any more.' : `${pending.toLocaleString('en')} still pending.`}
            </p>
            <progress max={total} value={total - pending} aria-label="Finished" />
            <dl class="figures">
              <div>
                <dt>Finished</dt>
                <dd>{Math.max(0, total - pending - parked).toLocaleString('en')}</dd>
              </div>
              <div>
                <dt>Pending</dt>
                <dd>{pending.toLocaleString('en')}</dd>
              </div>
              <div>
                <dt>Parked again</dt>
                <dd class={parked > 0 ? 'bad' : undefined}>{parked.toLocaleString('en')}</dd>
              </div>
            </dl>
          </>
        )}
        <div class="buttons">
          {undo && action !== 'rerun' && (
            <form method="post" action="/ops/undo">
              <input type="hidden" name="done" value={encodeResult(result)} />
              <button type="submit">{undo}</button>
            </form>
          )}
          {parked > 0 && (
            <a class="button" href={listPath({ ...filter, since: undefined })}>
              See what is parked
            </a>
          )}
          <a class="button" href="/ops">
            To the overview
          </a>
        </div>
      </div>
    </Layout>
  );
}

/** `retry_2026-03-01T12:00:00.000Z_3_1`, and between which times the events were received. */
export function encodeResult({ action, at, events, effects, received = [at, at] }: Result): string {
  return [action, at.toISOString(), events, effects, ...received.map((time) => time.toISOString())].join('_');
}
