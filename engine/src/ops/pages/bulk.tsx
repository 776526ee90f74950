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
  /** Why the last try did not happen, and what was typed for it. */
  readonly refused?: { readonly text: string; readonly reason: string | undefined };
}

interface Words {
  readonly question: (what: string) => string;
  readonly consequence: string;
  /** What it is about, without a filter. */
  readonly all: string;
  readonly nothing: string;
}

const WORDS: Readonly<Record<ActionName, Words>> = {
  retry: {
    question: (what) => `Retry ${what}`,
    consequence: 'Each is tried at once, and all its attempts start again.',
    all: 'All that is parked',
    nothing: 'Nothing of this is parked, waits for its next attempt or was discarded.',
  },
  discard: {
    question: (what) => `Discard ${what}`,
    consequence: 'Their handlers will not run. The events leave the overview. A retry puts them back.',
    all: 'All that is parked',
    nothing: 'None of these is parked.',
  },
  rerun: {
    question: (what) => `Run ${what} again`,
    consequence:
      'Their handlers run once more. Events whose bodies were deleted are left out. This cannot be taken back.',
    all: 'All finished events whose bodies are still there',
    nothing: 'None of these is finished and still has its body.',
  },
};

/** Asks before an action on many events. The form says which events the operator saw, so that no others are changed. */
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
          {words.nothing} <a href={listPath(filter)}>To the list</a>
        </p>
      )}
      {isTooMany && (
        <p class="banner">
          At most {MAX_RERUN.toLocaleString('en')} events run again at a time, because their changes are made a second
          time. Choose one source, one type or a shorter time.
        </p>
      )}
      {events > 0 && !isTooMany && (
        <>
          {action === 'discard' && total.effects > 0 && (
            <p class="banner bad">
              {counted(total.effects, 'effect')} will be deleted and never sent, and cannot be put back.
            </p>
          )}
          {(action !== 'discard' || total.events > 0) && <p class="lead">{words.consequence}</p>}
          <Origin
            parts={
              fields.length === 0
                ? [words.all]
                : fields.map(([name, value], index) => (
                    <>
                      {index === 0 && 'Chosen by: '}
                      {NAMES[name] ?? name} <Code value={value} />
                    </>
                  ))
            }
          />
          <Table
            caption="What it is about"
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
                'The first events',
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

/** The fields of a filter whose names in the address say too little. */
const NAMES: Readonly<Record<string, string>> = {
  q: 'event id',
  effect_status: 'its effects',
  error: 'error like',
  since: 'received since',
  until: 'received before',
  action_at: 'of the action at',
};

/** What an action asks of the operator. */
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
              I know: handlers run again, and make their changes <strong>a second time</strong>
            </span>
          </label>
          <label class="check">
            <input type="checkbox" name="effects" value="yes" />
            <span>Send the effects again as well, with the same idempotency keys (optional)</span>
          </label>
        </>
      )}
    </>
  );
}
