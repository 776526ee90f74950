import { MAX_RERUN, type Matching } from '../../db/actions.ts';
import { type EventFilter, filterFields } from '../../db/filter.ts';
import { type ActionName, MEANING } from '../../db/schema.ts';
import { counted, countedBoth, sum } from '../../shared/counts.ts';

import { MAX_REASON_LENGTH } from '../input.ts';

import { Layout, type PageContext } from './layout.tsx';
import { bulkPath, Code, eventPath, Id, listPath, Origin, oneLine, Table } from './parts.tsx';

interface BulkProps extends PageContext {
  readonly action: ActionName;
  readonly filter: EventFilter;
  readonly matching: Matching;
  /** Why the submitted action was refused, and the reason that was typed. */
  readonly refused?: { readonly text: string; readonly reason: string | undefined };
}

interface Words {
  readonly question: (what: string) => string;
  readonly consequence: string;
  /** Describes the events if there is no filter. */
  readonly all: string;
  readonly nothing: string;
}

const WORDS: Readonly<Record<ActionName, Words>> = {
  retry: {
    question: (what) => `Retry ${what}`,
    consequence: 'Each is tried now, and its attempts are counted from the start again.',
    all: 'All parked events and effects',
    nothing: 'None of these events is parked, discarded or waiting for its next attempt.',
  },
  discard: {
    question: (what) => `Discard ${what}`,
    consequence: 'Their handlers will not run, and the events disappear from the overview. A retry puts them back.',
    all: 'All parked events and effects',
    nothing: 'None of these events is parked.',
  },
  rerun: {
    question: (what) => `Run ${what} again`,
    consequence: 'Their handlers run again. Events whose bodies have been deleted are left out. This cannot be undone.',
    all: 'All finished events that still have their bodies',
    nothing: 'None of these events is finished and still has its body.',
  },
};

/**
 * Asks for confirmation before an action on many events. The form contains a hash of the events that the operator saw,
 * so that no others are changed.
 */
export function Bulk({ action, filter, matching, refused, ...context }: BulkProps) {
  const { groups, matching: events } = matching;
  const isTryNow = action === 'retry' && (filter.status === 'pending' || filter.effect_status === 'pending');
  const words = isTryNow ? { ...WORDS.retry, question: (what: string) => `Try ${what} now` } : WORDS[action];
  const total = { events: sum(groups.map((one) => one.events)), effects: sum(groups.map((one) => one.effects)) };
  const question = events === 0 ? 'Nothing to do' : words.question(countedBoth(total));
  const isTooMany = action === 'rerun' && events > MAX_RERUN;
  const fields = Object.entries(filterFields(filter));
  return (
    <Layout {...context} title={question} current="/ops/events">
      <h1>{isTooMany ? `More than ${counted(MAX_RERUN, 'event')} match` : events === 0 ? question : `${question}?`}</h1>
      {refused && (
        <p class="banner bad" role="alert">
          {refused.text}
        </p>
      )}
      {events === 0 && (
        <p class="lead">
          {words.nothing} <a href={listPath(filter)}>Back to the list</a>
        </p>
      )}
      {isTooMany && (
        <p class="banner">
          At most {MAX_RERUN.toLocaleString('en')} events can be rerun at a time, because their changes are made a
          second time. Narrow by source, type or time.
        </p>
      )}
      {events > 0 && !isTooMany && (
        <>
          {action === 'discard' && total.effects > 0 && (
            <p class="banner bad">
              {counted(total.effects, 'effect')} will be deleted and never sent. This cannot be undone.
            </p>
          )}
          {(action !== 'discard' || total.events > 0) && <p class="lead">{words.consequence}</p>}
          <Origin
            parts={
              fields.length === 0
                ? [words.all]
                : fields.map(([name, value], index) => (
                    <>
                      {index === 0 && 'Filtered by: '}
                      {NAMES[name] ?? name} <Code value={value} />
                    </>
                  ))
            }
          />
          <Table
            caption="Affected events"
            rows={groups}
            columns={[
              ['Source', ({ source }) => <Code value={source} />],
              groups.some(({ failure }) => failure !== null) && [
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
              total.events > 0 && ['Events', ({ events }) => events.toLocaleString('en'), 'number'],
              total.effects > 0 && ['Effects', ({ effects }) => effects.toLocaleString('en'), 'number'],
              [
                'First events',
                ({ source, event_ids, others }) => (
                  <span class="ids">
                    {event_ids.map((event_id) => (
                      <a href={eventPath({ source, event_id })} aria-label={oneLine(event_id)}>
                        <Id value={event_id} />
                      </a>
                    ))}
                    {others > 0 && <span class="quiet">and {counted(others, 'other')}</span>}
                  </span>
                ),
                'wide',
              ],
            ]}
          />
          <form class="confirm" method="post" action={bulkPath(filter)}>
            <input type="hidden" name="action" value={action} />
            <input type="hidden" name="expected" value={matching.expected} />
            <ActionFields action={action} reason={refused?.reason} />
            <div class="buttons">
              <button
                type="submit"
                class={action === 'retry' ? 'primary' : 'danger'}
                data-key={action === 'retry' && 'r'}
              >
                {question}
              </button>
              <a class="button plain" href={listPath(filter)}>
                Cancel
              </a>
            </div>
          </form>
        </>
      )}
    </Layout>
  );
}

/** Readable names for some fields of a filter. */
const NAMES: Readonly<Record<string, string>> = {
  q: 'event id',
  effect_status: 'with effects',
  error: 'error similar to',
  since: 'received since',
  until: 'received before',
  action_at: 'changed by the action at',
};

/** The input fields of an action. */
export function ActionFields({ action, reason }: { action: ActionName; reason?: string | undefined }) {
  return (
    <>
      <label>
        Reason{action === 'discard' ? '' : ' (optional)'}
        <input
          name="reason"
          value={reason}
          required={action === 'discard'}
          maxlength={MAX_REASON_LENGTH}
          autocomplete="off"
        />
      </label>
      {action === 'rerun' && (
        <>
          <label class="check">
            <input type="checkbox" name="understood" value="yes" required />
            <span>
              I understand that the handlers make their changes <strong>a second time</strong>
            </span>
          </label>
          <label class="check">
            <input type="checkbox" name="effects" value="yes" />
            <span>Also send the effects again, with the same idempotency keys (optional)</span>
          </label>
        </>
      )}
    </>
  );
}
