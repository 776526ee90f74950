import type { EventFilter } from '../../db/filter.ts';
import { LOOK_BACK_DAYS, type PauseStatus, type SourceStatus, type Status } from '../../db/status.ts';
import { counted, sum } from '../../shared/counts.ts';
import { duration, headline, pauseText, reconcileText } from '../words.ts';
import { ProblemItem } from './failure.tsx';
import { Layout, type PageContext } from './layout.tsx';
import { Ago, Code, Figure, FirstEvent, listPath, Table, visible } from './parts.tsx';

/** Soon enough to see the first event arrive. */
const LOCAL_REFRESH_SECONDS = 3;

/** What is wrong, since when, and what to do about it; and then how everything else goes. */
export function Overview({ status, ...context }: PageContext & { status: Status }) {
  const { sources, effects, effect_kinds, reconciles, pauses, totals, problems } = status;
  const { now } = context;
  const stuck = totals.parked + effects.parked;
  const parkedEffects = ({ source }: SourceStatus) => {
    const those = problems.filter((one) => one.what === 'effect' && one.status === 'parked' && one.source === source);
    return sum(those.map(({ count }) => count));
  };
  const isActive = (row: SourceStatus) =>
    sum(row.accepted_per_hour) + (row.accepted_last_week ?? 0) + row.pending + row.parked + parkedEffects(row) > 0;
  const active = sources.filter(isActive);
  const silent = sources.filter((source) => !isActive(source));
  const unusual = sources.filter(({ unusually_silent }) => unusually_silent);
  const senders = sources.filter((one) => sum(one.accepted_per_hour) > 0).length;
  const [slowest] = active.toSorted((a, b) => (b.seconds_to_done.p95 ?? 0) - (a.seconds_to_done.p95 ?? 0));
  return (
    <Layout
      {...context}
      title={stuck > 0 ? headline(status, now) : 'Overview'}
      current="/ops"
      refresh={context.operator?.isLocal ? LOCAL_REFRESH_SECONDS : undefined}
      summary={`${totals.pending} pending, ${totals.parked} parked`}
    >
      <div id="overview" data-live>
        <h1>{headline(status, now)}</h1>
        <p class="lead">
          {stuck > 0
            ? 'No further attempt is made until you correct the cause and retry. Nothing is lost.'
            : problems.length > 0
              ? 'It is tried again until its attempts are used up, and then it is parked. Nothing is lost.'
              : pauses.length > 0
                ? 'Calls go on when the other side answers again, or when you resume them. Nothing is lost.'
                : 'No event and no effect waits for you.'}
        </p>
        {(problems.length > 0 || unusual.length > 0 || pauses.length > 0) && (
          <ul class="problems" aria-label="What is wrong">
            {problems.map((problem) => (
              <ProblemItem problem={problem} now={now} />
            ))}
            {pauses.map((pause) => (
              <PauseItem pause={pause} now={now} />
            ))}
            {unusual.map(({ source, last_accepted_at }) => (
              <li class="problem warn">
                <h2>
                  <a href={listPath({ source })}>{visible(source)} is silent</a>
                </h2>
                <p class="since">
                  its last event <Ago at={last_accepted_at} never={`more than ${LOOK_BACK_DAYS} d ago`} now={now} />:
                  unusually long
                </p>
              </li>
            ))}
          </ul>
        )}

        <dl class="figures">
          <Figure name="Events accepted, 24 h" value={sum(sources.flatMap((one) => one.accepted_per_hour))}>
            {senders === 0 ? 'no event today' : `from ${counted(senders, 'source')}`}
          </Figure>
          <Figure name="Received to done, p95" value={percentile(slowest?.seconds_to_done.p95)}>
            {slowest ? `of ${visible(slowest.source)}, the slowest` : 'no event today'}
          </Figure>
          <Figure name="Events pending" value={totals.pending} filter={{ status: 'pending' }}>
            <Oldest at={totals.oldest_pending_at} now={now} />
          </Figure>
          <Figure name="Effects pending" value={effects.pending} filter={{ effect_status: 'pending' }}>
            <Oldest at={effects.oldest_pending_at} now={now} />
            {effects.later > 0 && ` and ${effects.later.toLocaleString('en')} for later`}
          </Figure>
          <Figure name="Effects sent, 24 h" value={effects.sent_last_day}>
            {effects.sent_last_day === 0 ? 'nothing sent' : `of ${counted(effect_kinds.length, 'kind')}`}
          </Figure>
        </dl>

        <h2>Sources</h2>
        {active.length === 0 && (
          <p class="empty">
            No event has arrived in the last {LOOK_BACK_DAYS} days.{' '}
            <FirstEvent {...context} source={sources[0]?.source} />
          </p>
        )}
        <Table
          caption="Sources"
          rows={active}
          edge={(row) => (row.parked + parkedEffects(row) > 0 ? 'parked' : row.accepted_last_week ? 'pending' : '')}
          columns={[
            ['Source', ({ source }) => <a href={listPath({ source })}>{<Code value={source} />}</a>],
            ['Events per hour, 24 h', (row) => <Chart perHour={row.accepted_per_hour} what="event" />, 'wide'],
            ['Events', (row) => sum(row.accepted_per_hour).toLocaleString('en'), 'number'],
            [
              'Pending',
              ({ source, pending }) => <Count value={pending} filter={{ source, status: 'pending' }} />,
              'number',
            ],
            ['Parked', (row) => <Parked source={row} effects={parkedEffects(row)} />, 'number'],
            ['Last', (row) => <Last source={row} now={now} />, 'when'],
            ['To done, p50', (row) => percentile(row.seconds_to_done.p50), 'number'],
            ['p95', (row) => percentile(row.seconds_to_done.p95), 'number'],
          ]}
        />
        {reconciles.length > 0 && (
          <>
            <h2>Asked what they have sent</h2>
            <Table
              caption="Asked what they have sent"
              rows={reconciles}
              edge={({ problem, found_at }) => (problem ? 'parked' : isRecent(found_at, now) ? 'pending' : '')}
              columns={[
                ['Source', ({ source }) => <Code value={source} />],
                ['Result', (row) => visible(reconcileText(row, now)), 'wide'],
              ]}
            />
          </>
        )}
        {silent.length > 0 && (
          <details class="silent">
            <summary>
              {counted(silent.length, 'source')} without an event in {LOOK_BACK_DAYS} days
            </summary>
            <ul>
              {silent.map(({ source }) => (
                <li>
                  <a href={listPath({ source })}>
                    <Code value={source} />
                  </a>
                </li>
              ))}
            </ul>
          </details>
        )}
        {effect_kinds.length > 0 && (
          <>
            <h2>Effects</h2>
            <Table
              caption="Effects"
              rows={effect_kinds}
              edge={({ parked }) => (parked > 0 ? 'parked' : '')}
              columns={[
                ['Kind', ({ kind }) => <Code value={kind} />],
                ['Sent per hour, 24 h', (row) => <Chart perHour={row.sent_per_hour} what="effect" />, 'wide'],
                ['Sent', (row) => sum(row.sent_per_hour).toLocaleString('en'), 'number'],
                ['Pending', ({ pending }) => <Count value={pending} />, 'number'],
                ['Parked', ({ parked }) => <Count value={parked} style="bad" />, 'number'],
                ['Last', (row) => <Ago at={row.last_sent_at} never="not today" now={now} />, 'when'],
                ['To sent, p50', (row) => percentile(row.seconds_to_sent.p50), 'number'],
                ['p95', (row) => percentile(row.seconds_to_sent.p95), 'number'],
              ]}
            />
          </>
        )}
      </div>
    </Layout>
  );
}

/** A kind of effects, or one of its hosts, that is not called now. */
function PauseItem({ pause, now }: { pause: PauseStatus; now: Date }) {
  const { kind, host, paused_by } = pause;
  const button = (action: 'try' | 'resume', name: string) => (
    <form method="post" action="/ops/pauses">
      <input type="hidden" name="kind" value={kind} />
      <input type="hidden" name="host" value={host} />
      <button class="button" type="submit" name="action" value={action} aria-label={`${name}: ${visible(kind)}`}>
        {name}
      </button>
    </form>
  );
  return (
    <li class="problem warn">
      <h2>{visible(pauseText(pause, now))}</h2>
      <p class="buttons">
        {paused_by === null && button('try', 'Try now')}
        {button('resume', 'Resume')}
      </p>
    </li>
  );
}

const isRecent = (at: string | null, now: Date) => at !== null && now.getTime() - Date.parse(at) < 86_400_000;

/** A source that was silent for a day, with how often it usually sends. */
function Last({ source: { last_accepted_at, accepted_last_week }, now }: { source: SourceStatus; now: Date }) {
  return (
    <>
      <Ago at={last_accepted_at} now={now} />
      {accepted_last_week ? <span class="note warn">usually {usual(accepted_last_week)}</span> : ''}
    </>
  );
}

function Parked({ source: { source, parked }, effects }: { source: SourceStatus; effects: number }) {
  return (
    <>
      <Count value={parked} filter={{ source, status: 'parked' }} style="bad" />
      {effects > 0 && (
        <a class="note bad" href={listPath({ source, effect_status: 'parked' })}>
          {counted(effects, 'effect')}
        </a>
      )}
    </>
  );
}

function Count({ value, filter, style }: { value: number; filter?: EventFilter; style?: string }) {
  if (value === 0) return <span class="quiet">0</span>;
  const number = value.toLocaleString('en');
  return filter ? (
    <a class={style} href={listPath(filter)}>
      {number}
    </a>
  ) : (
    <span class={style}>{number}</span>
  );
}

const percentile = (value: number | null | undefined) => (value == null ? '–' : duration(value));

/** By its events of a week. */
function usual(perWeek: number): string {
  return perWeek < 7 ? `${perWeek} a week` : `${Math.round(perWeek / 7).toLocaleString('en')} a day`;
}

/** Of one bar, and of the chart. */
const BAR_WIDTH = 10;
const HEIGHT = 40;

/** Numbers per hour as bars. A reader who doesn't see it gets the same in a sentence. */
function Chart({ perHour, what }: { perHour: readonly number[]; what: string }) {
  const most = Math.max(...perHour);
  const label = `${counted(sum(perHour), what)} in 24 hours, at most ${most} in an hour, ${perHour.at(-1) ?? 0} in the last hour`;
  return (
    <svg
      class="chart"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${perHour.length * BAR_WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
    >
      <title>{label}</title>
      {perHour.map((count, hour) => {
        // An hour with a single event must not look like an hour without any.
        const height = count === 0 ? 2 : Math.max(4, Math.round((count / most) * HEIGHT));
        const style = count === 0 ? 'none' : undefined;
        return <rect class={style} x={hour * BAR_WIDTH} y={HEIGHT - height} width={BAR_WIDTH - 3} height={height} />;
      })}
    </svg>
  );
}

function Oldest({ at, now }: { at: string | null; now: Date }) {
  if (at === null) return <>nothing waits</>;
  return (
    <>
      the oldest <Ago at={at} now={now} />
    </>
  );
}
