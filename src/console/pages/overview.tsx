import type { EffectKindStatus } from '../../db/effect-kinds.ts';
import { LOOK_BACK_DAYS, type SourceStatus } from '../../db/status.ts';
import type { OverviewData } from '../overview.ts';
import { Chart } from './chart.tsx';
import { Layout, type PageContext } from './layout.tsx';
import { Ago, Code, counted, duration, listPath } from './parts.tsx';

/** Soon enough to see the first event arrive. */
const LOCAL_REFRESH_SECONDS = 3;

export function Overview({ status, ...context }: PageContext & { status: OverviewData }) {
  const { sources, effects, effect_kinds, totals } = status;
  const { now } = context;
  const stuck = totals.parked + effects.parked;
  const nothingYet = sources.every(({ last_accepted_at }) => last_accepted_at === null);
  return (
    <Layout
      {...context}
      title="Overview"
      current="/ops"
      refresh={context.visitor?.isLocal ? LOCAL_REFRESH_SECONDS : undefined}
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
        <Figure name="Parked events" value={totals.parked} href={listPath({ status: 'parked' })} bad />
        <Figure name="Pending events" value={totals.pending} href={listPath({ status: 'pending' })}>
          {totals.oldest_pending_at && (
            <>
              oldest: <Ago at={totals.oldest_pending_at} now={now} />
            </>
          )}
        </Figure>
        <Figure name="Parked effects" value={effects.parked} href={listPath({ effectStatus: 'parked' })} bad />
        <Figure name="Pending effects" value={effects.pending} href={listPath({ effectStatus: 'pending' })}>
          {effects.oldest_pending_at && (
            <>
              oldest: <Ago at={effects.oldest_pending_at} now={now} />
            </>
          )}
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
      {sources.length > 0 && (
        <table class="cards">
          <thead>
            <tr>
              <th scope="col">Source</th>
              <th scope="col">Last accepted</th>
              <th scope="col">Accepted per hour, last 24 h</th>
              <th scope="col">Pending</th>
              <th scope="col">Parked</th>
              <th scope="col">Received to done, p50 / p95</th>
            </tr>
          </thead>
          <tbody>
            {sources.map((source) => (
              <SourceRow source={source} now={now} />
            ))}
          </tbody>
        </table>
      )}

      {effect_kinds.length > 0 && (
        <>
          <h2>Effects</h2>
          <table class="cards">
            <thead>
              <tr>
                <th scope="col">Kind</th>
                <th scope="col">Last sent</th>
                <th scope="col">Sent per hour, last 24 h</th>
                <th scope="col">Pending</th>
                <th scope="col">Parked</th>
                <th scope="col">Done to sent, p50 / p95</th>
              </tr>
            </thead>
            <tbody>
              {effect_kinds.map((kind) => (
                <EffectRow kind={kind} now={now} />
              ))}
            </tbody>
          </table>
        </>
      )}
    </Layout>
  );
}

function SourceRow({ source: row, now }: { source: SourceStatus; now: Date }) {
  const { source, pending, parked, oldest_pending_at, seconds_to_done } = row;
  return (
    <tr>
      <th scope="row">
        <a href={listPath({ source })}>
          <Code value={source} />
        </a>
      </th>
      <td data-label="Last accepted">
        {row.last_accepted_at === null ? (
          <span class="quiet">not in {LOOK_BACK_DAYS} days</span>
        ) : (
          <Ago at={row.last_accepted_at} now={now} />
        )}
      </td>
      <td data-label="Per hour, last 24 h">
        <Chart perHour={row.accepted_per_hour} what="event" />
      </td>
      <td data-label="Pending">
        {pending === 0 ? (
          <span class="quiet">0</span>
        ) : (
          <span>
            <a href={listPath({ source, status: 'pending' })}>{pending.toLocaleString('en')}</a>{' '}
            <span class="quiet">
              oldest: <Ago at={oldest_pending_at} now={now} />
            </span>
          </span>
        )}
      </td>
      <td data-label="Parked">
        {parked === 0 ? (
          <span class="quiet">0</span>
        ) : (
          <a class="bad" href={listPath({ source, status: 'parked' })}>
            {parked.toLocaleString('en')}
          </a>
        )}
      </td>
      <td data-label="To done, p50 / p95">
        <span>
          {seconds(seconds_to_done.p50)} / {seconds(seconds_to_done.p95)}
        </span>
      </td>
    </tr>
  );
}

function EffectRow({ kind: row, now }: { kind: EffectKindStatus; now: Date }) {
  return (
    <tr>
      <th scope="row">
        <Code value={row.kind} />
      </th>
      <td data-label="Last sent">
        {row.last_sent_at === null ? <span class="quiet">not today</span> : <Ago at={row.last_sent_at} now={now} />}
      </td>
      <td data-label="Per hour, last 24 h">
        <Chart perHour={row.sent_per_hour} what="effect" />
      </td>
      <td data-label="Pending">
        {row.pending === 0 ? (
          <span class="quiet">0</span>
        ) : (
          <span>
            {row.pending.toLocaleString('en')}{' '}
            <span class="quiet">
              oldest: <Ago at={row.oldest_pending_at} now={now} />
            </span>
          </span>
        )}
      </td>
      <td data-label="Parked">
        {row.parked === 0 ? <span class="quiet">0</span> : <span class="bad">{row.parked.toLocaleString('en')}</span>}
      </td>
      <td data-label="To sent, p50 / p95">
        <span>
          {seconds(row.seconds_to_sent.p50)} / {seconds(row.seconds_to_sent.p95)}
        </span>
      </td>
    </tr>
  );
}

function seconds(value: number | null): string {
  return value === null ? '–' : duration(value);
}

interface FigureProps {
  readonly name: string;
  readonly value: number;
  readonly href?: string;
  /** Any number above zero is bad news. */
  readonly bad?: boolean;
  readonly children?: unknown;
}

function Figure({ name, value, href, bad = false, children }: FigureProps) {
  const number = value.toLocaleString('en');
  return (
    <div class={bad && value > 0 ? 'bad' : undefined}>
      <dt>{name}</dt>
      <dd>
        {href ? <a href={href}>{number}</a> : number} {children && <span class="quiet">{children}</span>}
      </dd>
    </div>
  );
}
