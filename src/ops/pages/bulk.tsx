import { MAX_RERUN, type Matching } from '../../db/actions.ts';
import type { Progress } from '../../db/done-actions.ts';
import { type EventFilter, fieldsOf } from '../../db/filter.ts';
import { type ActionName, MEANING } from '../../db/schema.ts';
import { encodeResult, MAX_REASON_LENGTH, type Result } from '../input.ts';
import { counted, countedBoth } from '../words.ts';
import { Layout, type PageContext } from './layout.tsx';
import { ProblemItem } from './overview.tsx';
import { Code, eventPath, Id, listPath, oneLine, Table } from './parts.tsx';

interface BulkProps extends PageContext {
  readonly action: ActionName;
  readonly filter: EventFilter;
  readonly matching: Matching;
  /** Why the last try did not happen, and what was typed for it. */
  readonly refused?: { readonly text: string; readonly reason: string | undefined };
}

const QUESTIONS: Readonly<Record<ActionName, (what: string) => string>> = {
  retry: (what) => `Retry ${what}`,
  discard: (what) => `Discard ${what}`,
  rerun: (what) => `Run ${what} again`,
};

const CONSEQUENCES: Readonly<Record<ActionName, string>> = {
  retry:
    'Each gets all its attempts back, and is tried at once. You can stop those that have not begun: they are parked.',
  discard: 'You can put the events back.',
  rerun: 'Their handlers run once more. Events whose bodies were deleted are left out. This cannot be taken back.',
};

/** Asks back before an action on many events. What is sent holds the number that the operator saw. */
export function Bulk({ action, filter, matching, refused, ...context }: BulkProps) {
  const { groups, matching: events } = matching;
  const total = { events: sum(groups, 'events'), effects: sum(groups, 'effects') };
  const question = events === 0 ? `Nothing to ${action}` : QUESTIONS[action](countedBoth(total));
  const isTooMany = action === 'rerun' && events > MAX_RERUN;
  const fields = Object.entries(fieldsOf(filter));
  return (
    <Layout {...context} title={question}>
      <h1>{isTooMany ? `More than ${counted(MAX_RERUN, 'event')} match` : events === 0 ? question : `${question}?`}</h1>
      {refused && (
        <p class="banner bad" role="alert">
          {refused.text}
        </p>
      )}
      {events === 0 && (
        <p class="lead">
          {NOTHING[action]} <a href={listPath(filter)}>To the list</a>
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
          {action === 'discard' && total.effects > 0 && (
            <p class="banner bad">
              {counted(total.effects, 'effect')} will be deleted and never sent. This cannot be taken back.
            </p>
          )}
          {(action !== 'discard' || total.events > 0) && <p class="lead">{CONSEQUENCES[action]}</p>}
          <p class="origin">
            {fields.length === 0 && <span>{ALL[action]}</span>}
            {fields.map(([name, value], index) => (
              <span>
                {index === 0 && 'Chosen by: '}
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
              ...COUNTS.filter(([name]) => total[name] > 0).map(
                ([name, head]) => [head, (group: Group) => group[name].toLocaleString('en'), 'number'] as const,
              ),
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

type Group = Matching['groups'][number];

const COUNTS = [
  ['events', 'Events'],
  ['effects', 'Effects'],
] as const;

const NOTHING: Readonly<Record<ActionName, string>> = {
  retry: 'Nothing of this is parked, or waits for its next attempt.',
  discard: 'Nothing of this is parked.',
  rerun: 'No event of this is finished and has its body still.',
};

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
  action_at: 'of the action at',
};

function sum(groups: Matching['groups'], field: 'events' | 'effects'): number {
  return groups.reduce((total, group) => total + group[field], 0);
}

/** What an operator has to say for an action. */
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

interface ResultProps extends PageContext {
  readonly result: Result;
  readonly progress: Progress;
}

const DONE: Readonly<Record<ActionName, string>> = { retry: 'Retried', discard: 'Discarded', rerun: 'Running again:' };

/** What has become of it so far: nothing looks finished that isn't. */
export function BulkResult({ result, progress, ...context }: ResultProps) {
  const { action, at, events, effects, received } = result;
  const { pending, stoppable, takenBack, failed, unsent, problems } = progress;
  const total = events + effects;
  const finished = Math.max(0, total - pending - takenBack - failed);
  const span = received && { since: received[0], until: new Date(received[1].getTime() + 1) };
  const all: EventFilter = { action_at: at, ...span };
  const isOver = pending + unsent === 0 && problems.every(({ status }) => status === 'parked');
  const isDiscard = action === 'discard';
  const undo = isDiscard
    ? events > takenBack && 'Put the events back'
    : stoppable > 0 && `Stop the ${stoppable.toLocaleString('en')} that have not begun`;
  const back = isDiscard ? 'put back' : 'stopped';
  const ofAll = (count: number, what: string) =>
    `${count.toLocaleString('en')} of ${total.toLocaleString('en')} ${what}`;
  const title =
    failed > 0
      ? ofAll(failed, 'failed again')
      : takenBack > 0
        ? ofAll(takenBack, back)
        : `${DONE[action]} ${countedBoth(result)}`;
  const parts: readonly (readonly [name: string, count: number, style: string, filter?: EventFilter])[] = [
    ['Failed again', failed, 'failed'],
    ['Pending', pending, 'waiting', { ...all, status: 'pending' }],
    [isDiscard ? 'Put back' : 'Stopped', takenBack, 'stopped', { ...all, status: 'parked' }],
    isDiscard ? ['Discarded', finished, 'stopped'] : ['Done', finished, 'done', { ...all, status: 'done' }],
  ];
  const said = parts.filter(([name, count]) => count > 0 || (name === 'Done' && !isDiscard));
  return (
    <Layout
      {...context}
      title={title}
      refresh={isOver ? undefined : 2}
      summary={said.map(([name, count]) => `${name}: ${count}`).join(', ')}
    >
      <div id="result" data-live>
        <h1>{title}</h1>
        <svg class="bar" aria-hidden="true" viewBox={`0 0 ${Math.max(1, total)} 1`} preserveAspectRatio="none">
          {said.map(([, count, style], index) => {
            const before = said.slice(0, index).reduce((sum, [, one]) => sum + one, 0);
            return <rect class={style} x={before} y={0} width={count} height={1} />;
          })}
        </svg>
        <dl class="figures">
          {said.map(([name, count, style, filter]) => (
            <div>
              <dt>{name}</dt>
              <dd class={style === 'failed' ? 'bad' : undefined}>
                {filter && count > 0 ? (
                  <a href={listPath(filter)}>{count.toLocaleString('en')}</a>
                ) : (
                  count.toLocaleString('en')
                )}
              </dd>
            </div>
          ))}
        </dl>
        {unsent > 0 && <p class="lead">Of what is done, {counted(unsent, 'effect')} not sent yet.</p>}
        {isOver && finished === total && !isDiscard && <p class="lead">Nothing is left to do.</p>}
        {problems.length > 0 && (
          <ul class="problems" aria-label="Why they failed">
            {problems.map((problem) => (
              <ProblemItem problem={problem} among={all} now={context.now} />
            ))}
          </ul>
        )}
        <div class="buttons">
          {undo && (
            <form method="post" action="/ops/undo">
              <input type="hidden" name="done" value={encodeResult(result)} />
              <button type="submit">{undo}</button>
            </form>
          )}
          <a class="button" href={listPath(all)}>
            See the events
          </a>
          <a class="button plain" href="/ops">
            To the overview
          </a>
        </div>
      </div>
    </Layout>
  );
}
