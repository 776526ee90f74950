import type { Child } from 'hono/jsx';
import { LOOK_BACK_DAYS, type SourceStatus, type Status } from '../../db/status.ts';
import type { EventFilter } from '../../db/views.ts';
import { Layout, type PageContext } from './layout.tsx';
import { Ago, Code, counted, duration, listPath, Table } from './parts.tsx';

/** Soon enough to see the first event arrive. */
const LOCAL_REFRESH_SECONDS = 3;

export function Overview({ status, ...context }: PageContext & { status: Status }) {
  const { sources, effects, effect_kinds, totals } = status;
  const { now } = context;
  const stuck = totals.parked + effects.parked;
  const nothingYet = sources.every(({ last_accepted_at }) => last_accepted_at === null);
  return (
    <Layout
      {...context}
      title="Overview"
      current="/ops"
      refresh={context.operator?.isLocal ? LOCAL_REFRESH_SECONDS : undefined}
      summary={`${totals.pending} pending, ${totals.parked} parked`}
    >
      <h1>Overview</h1>
      <p class={stuck > 0 ? 'banner bad' : 'banner good'}>
        {stuck > 0 ? (
          <>
            <strong>{counted(totals.parked, 'event')} parked</strong>
            {effects.parked > 0 && <> and {counted(effects.parked, 'effect')} parked</>}: they failed for good, and wait
            for you. {totals.parked > 0 && <a href={listPath({ status: 'parked' })}>See the parked events</a>}{' '}
            {effects.parked > 0 && (
              <a href={listPath({ effectStatus: 'parked' })}>See the events with parked effects</a>
            )}
          </>
        ) : (
          'Nothing is parked: no event waits for you.'
        )}
      </p>
      <dl class="figures">
        <Figure name="Parked events" value={totals.parked} filter={{ status: 'parked' }} />
        <Figure name="Pending events" value={totals.pending} filter={{ status: 'pending' }}>
          {totals.oldest_pending_at && <Oldest at={totals.oldest_pending_at} now={now} />}
        </Figure>
        <Figure name="Parked effects" value={effects.parked} filter={{ effectStatus: 'parked' }} />
        <Figure name="Pending effects" value={effects.pending} filter={{ effectStatus: 'pending' }}>
          {effects.oldest_pending_at && <Oldest at={effects.oldest_pending_at} now={now} />}
        </Figure>
        <Figure name="Effects sent, last 24 h" value={effects.sent_last_day} />
      </dl>

      <h2>Sources</h2>
      {nothingYet && (
        <p class="empty">
          No event has arrived in the last {LOOK_BACK_DAYS} days. Send a signed sample from another terminal:{' '}
          <code>npm run send -- {sources[0]?.source ?? '<source>'}</code>
        </p>
      )}
      <Table
        rows={sources}
        columns={[
          ['Source', ({ source }) => <a href={listPath({ source })}>{<Code value={source} />}</a>],
          [
            'Last accepted',
            (row) => <Ago at={row.last_accepted_at} never={`not in ${LOOK_BACK_DAYS} days`} now={now} />,
          ],
          ['Accepted per hour, last 24 h', (row) => <Chart perHour={row.accepted_per_hour} what="event" />],
          [
            'Pending',
            (row) => <Count value={row.pending} href={listPath({ source: row.source, status: 'pending' })} />,
          ],
          ['Oldest pending', (row) => <Ago at={row.oldest_pending_at} never="–" now={now} />],
          [
            'Parked',
            (row) => <Count value={row.parked} href={listPath({ source: row.source, status: 'parked' })} bad />,
          ],
          ['Received to done, p50 / p95', (row) => percentiles(row.seconds_to_done)],
        ]}
      />
      {effect_kinds.length > 0 && (
        <>
          <h2>Effects</h2>
          <Table
            rows={effect_kinds}
            columns={[
              ['Kind', ({ kind }) => <Code value={kind} />],
              ['Last sent', (row) => <Ago at={row.last_sent_at} never="not today" now={now} />],
              ['Sent per hour, last 24 h', (row) => <Chart perHour={row.sent_per_hour} what="effect" />],
              ['Pending', ({ pending }) => <Count value={pending} />],
              ['Oldest pending', (row) => <Ago at={row.oldest_pending_at} never="–" now={now} />],
              ['Parked', ({ parked }) => <Count value={parked} bad />],
              ['Done to sent, p50 / p95', (row) => percentiles(row.seconds_to_sent)],
            ]}
          />
        </>
      )}
    </Layout>
  );
}

function Count({ value, href, bad = false }: { value: number; href?: string; bad?: boolean }) {
  if (value === 0) return <span class="quiet">0</span>;
  const number = <span class={bad ? 'bad' : undefined}>{value.toLocaleString('en')}</span>;
  return href ? <a href={href}>{number}</a> : number;
}

function percentiles({ p50, p95 }: SourceStatus['seconds_to_done']): string {
  const seconds = (value: number | null) => (value === null ? '–' : duration(value));
  return `${seconds(p50)} / ${seconds(p95)}`;
}

/** Of one bar, and of the chart. */
const BAR_WIDTH = 10;
const HEIGHT = 40;

/** Numbers per hour as bars. A reader who doesn't see it gets the same in a sentence. */
function Chart({ perHour, what }: { perHour: readonly number[]; what: string }) {
  const most = Math.max(...perHour);
  const total = perHour.reduce((sum, count) => sum + count, 0);
  const label = `${counted(total, what)} in 24 hours, at most ${most} in an hour, ${perHour.at(-1) ?? 0} in the last hour`;
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
        const height = count === 0 ? 1 : Math.max(3, Math.round((count / most) * HEIGHT));
        const style = count === 0 ? 'none' : undefined;
        return <rect class={style} x={hour * BAR_WIDTH} y={HEIGHT - height} width={BAR_WIDTH - 2} height={height} />;
      })}
    </svg>
  );
}

function Figure(props: { name: string; value: number; filter?: EventFilter; children?: Child }) {
  const { name, value, filter, children } = props;
  const isBad = value > 0 && (filter?.status ?? filter?.effectStatus) === 'parked';
  const number = value.toLocaleString('en');
  return (
    <div class={isBad ? 'bad' : undefined}>
      <dt>{name}</dt>
      <dd>
        {filter ? <a href={listPath(filter)}>{number}</a> : number} {children}
      </dd>
    </div>
  );
}

function Oldest({ at, now }: { at: string; now: Date }) {
  return (
    <span class="quiet">
      oldest: <Ago at={at} now={now} />
    </span>
  );
}
