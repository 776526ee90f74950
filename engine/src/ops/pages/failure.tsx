import type { EventFilter } from '../../db/filter.ts';
import type { Problem } from '../../db/problems.ts';
import { type ActionName, MEANING } from '../../db/schema.ts';
import type { ListedEvent } from '../../db/views.ts';
import { counted } from '../../shared/counts.ts';
import { parseJson } from '../../shared/json.ts';
import { jsonAt } from '../../verify/places.ts';
import type { ShownEvent } from '../api.ts';
import { beginningOfError, clock, originOf, placeOf, quoted, upcoming } from '../words.ts';
import { MAX_SHOWN } from './body.tsx';
import { Ago, bulkPath, Code, eventPath, Facts, listPath, Origin, Text, visible } from './parts.tsx';

/** One group of failures on the overview. */
export function ProblemItem({ problem, now }: { problem: Problem; now: Date }) {
  const { what, status, count, errors, source, failure, error, event_id, since, latest, next_attempt_at, waiting } =
    problem;
  const isParked = status === 'parked';
  const state: EventFilter = what === 'event' ? { status } : { effect_status: status };
  const why = { type: problem.type ?? undefined, failure: failure ?? undefined, error: error ?? undefined };
  const filter = { ...state, source, ...why };
  const title = visible(error === null ? (failure ?? 'failed') : beginningOfError(error));
  const button = (action: ActionName, name: string, style: string) => (
    <a class={style} href={bulkPath(filter, action)} aria-label={`${name} ${counted(count, what)}: ${title}`}>
      {name}…
    </a>
  );
  return (
    <li class={isParked ? 'problem' : 'problem warn'}>
      <h2>
        <a href={count === 1 ? eventPath({ source, event_id }) : listPath(filter)} title={visible(error ?? title)}>
          {title}
        </a>
      </h2>
      <Origin
        parts={[...originOf(problem).map((one) => <bdi>{visible(one)}</bdi>), errors > 1 && `${errors} similar errors`]}
      />
      <p class="since">
        <strong>
          <a href={listPath(filter)}>{counted(count, what)}</a>
        </strong>
        {since && (
          <>
            {' '}
            since <time datetime={since}>{clock(since, now)} UTC</time>
          </>
        )}
        {isParked && count > 1 && (
          <>
            , latest <Ago at={latest} now={now} />
          </>
        )}
        {waiting > 0 && `, ${counted(waiting, 'event')} ${waiting === 1 ? 'waits' : 'wait'} behind`}
        {next_attempt_at && `, next try ${upcoming(next_attempt_at, now)}`}
      </p>
      <p class="buttons">
        {button('retry', isParked ? 'Retry' : 'Try now', 'button')}
        {isParked && button('discard', 'Discard', 'button plain')}
      </p>
    </li>
  );
}

/** Why the last attempt failed, and in which line, for a row of a table. */
export function Cause({ failure, last_error, position }: Pick<ListedEvent, 'failure' | 'last_error' | 'position'>) {
  const place = placeOf(position);
  return (
    <>
      {last_error !== null && (
        <span class="error">
          <Text value={last_error} />
        </span>
      )}
      {failure !== null && <span class="tag">{failure}</span>} {place && <code title={place.path}>{place.short}</code>}
    </>
  );
}

/**
 * Why an event is parked or retried: the whole error, where it was thrown, and which values didn't match. If only
 * effects are parked, shows this for the first of them.
 */
export function Failure({ event }: { event: ShownEvent }) {
  const { failed_paths, body } = event;
  const hasFailed = event.failure !== null || event.last_error !== null;
  const effect = hasFailed ? undefined : event.effects.find((one) => one.status === 'parked');
  const { status, failure, last_error, position } = effect ?? event;
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
          <summary>Full error</summary>
          <pre data-copy={error}>{visible(error)}</pre>
        </details>
      )}
      <Origin
        parts={[
          effect && (
            <>
              effect <Code value={effect.name} />
            </>
          ),
          failure !== null && (
            <>
              <a href={listPath({ failure, [effect ? 'effect_status' : 'status']: 'parked' })}>{failure}</a>:{' '}
              {MEANING[failure]}
            </>
          ),
          place && (
            <>
              in <code>{place.path}</code>
            </>
          ),
          !place && position !== null && (
            <>
              at <Code value={position} />
              {/\.js:\d/.test(position) && (
                <>
                  {' '}
                  of the bundle. This command translates it:{' '}
                  <code data-copy={`npm run ops -- position ${quoted(position)}`}>npm run ops -- position …</code>
                </>
              )}
            </>
          ),
        ]}
      />
      {failed_paths !== null && <FailedPaths paths={failed_paths} body={body} />}
    </section>
  );
}

/** A value is shown next to its path on one line. */
const MAX_VALUE_LENGTH = 120;

/** The values that didn't match the schema. A long body is not parsed for this. */
function FailedPaths({ paths, body }: { paths: readonly string[]; body: string | null }) {
  const parsed = parseJson(body !== null && body.length <= MAX_SHOWN ? body : '');
  const valueAt = (path: string) => {
    if (parsed.outcome === 'malformed') return '–';
    const value = JSON.stringify(path === '' ? parsed.json : jsonAt(path, parsed.json));
    if (value === undefined) return 'missing from the payload';
    return <Code value={value.length > MAX_VALUE_LENGTH ? `${value.slice(0, MAX_VALUE_LENGTH)}…` : value} />;
  };
  return <Facts rows={paths.map((path) => [path === '' ? 'the whole body' : <Code value={path} />, valueAt(path)])} />;
}
