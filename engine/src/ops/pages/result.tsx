import type { Progress } from '../../db/done-actions.ts';
import type { EventFilter } from '../../db/filter.ts';
import { sum } from '../../db/status.ts';
import { encodeResult, type Result } from '../input.ts';
import { counted, countedBoth, DONE } from '../words.ts';
import { ProblemItem } from './failure.tsx';
import { Layout, type PageContext } from './layout.tsx';
import { Figure, listPath } from './parts.tsx';

interface ResultProps extends PageContext {
  readonly result: Result;
  readonly progress: Progress;
}

/** What has become of it so far: nothing looks finished that isn't. */
export function BulkResult({ result, progress, ...context }: ResultProps) {
  const { action, at, events, effects, received } = result;
  const { pending, stoppable, takenBack, failed, unsent, problems } = progress;
  const total = events + effects;
  const finished = Math.max(0, total - pending - takenBack - failed);
  const span = received && { since: received[0], until: new Date(received[1].getTime() + 1) };
  const all: EventFilter = { action_at: at, ...span };
  // If it was about effects alone, their events are in any state.
  const withStatus = (status: 'pending' | 'parked'): EventFilter =>
    events > 0 ? { ...all, status } : { ...all, effect_status: status };
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
        : isOver && finished === total && !isDiscard
          ? ofAll(finished, 'done')
          : `${DONE[action].title} ${countedBoth(result)}`;
  const parts: readonly (readonly [name: string, count: number, style: string, filter?: EventFilter])[] = [
    ['Failed again', failed, 'failed'],
    ['Pending', pending, 'waiting', withStatus('pending')],
    [isDiscard ? 'Put back' : 'Stopped', takenBack, 'stopped', withStatus('parked')],
    isDiscard ? ['Discarded', finished, 'stopped'] : ['Done', finished, 'done', { ...all, status: 'done' }],
  ];
  const said = parts.filter(([name, count]) => count > 0 || (name === 'Done' && !isDiscard));
  return (
    <Layout
      {...context}
      title={title}
      current="/ops/events"
      refresh={isOver ? undefined : 2}
      summary={said.map(([name, count]) => `${name}: ${count}`).join(', ')}
    >
      <div id="result" data-live>
        <h1>{title}</h1>
        <svg class="bar" aria-hidden="true" viewBox={`0 0 ${Math.max(1, total)} 1`} preserveAspectRatio="none">
          {said.map(([, count, style], index) => {
            const before = sum(said.slice(0, index).map(([, one]) => one));
            return <rect class={style} x={before} y={0} width={count} height={1} />;
          })}
        </svg>
        <dl class="figures">
          {said.map(([name, count, style, filter]) => (
            <Figure name={name} value={count} filter={filter} style={style === 'failed' ? 'bad' : undefined} />
          ))}
        </dl>
        {unsent > 0 && <p class="lead">Of what is done, {counted(unsent, 'effect')} not sent yet.</p>}
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
