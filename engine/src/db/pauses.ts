// What keeps effects waiting: pauses of kinds and hosts, and limits of kinds. Decision 015 explains how it works. A row with an
// empty host is about the kind; one with an empty kind is about a host that handlers of events call.
//   kind     the kind of an effect, such as `receipt`
//   run      one call of `sendEffects`: it works the effects of some tickets
//   probe    the one effect that may be sent during a pause
//   line     effects that wait for a limit per second, each with a time (`slot_at`) and a ticket for that time
//   place    what an effect has that may be sent now although its kind is limited
//   backlog  effects wait without tickets and nothing is paused: each effect that ends sends tickets for others
import { type SQL, sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import type { EffectKey } from './keys.ts';
import { effects, pauses, TICKET_GRACE_MS } from './schema.ts';
import { at, columnNames, EFFECT_KEY, lockName, rowsOf } from './sql.ts';

const column = columnNames(pauses);
const effectColumn = columnNames(effects);

/** This many events must have failed since the last success. One event alone may be the reason itself. */
const EVENTS_TO_PAUSE = 3;

/** From the shortest to the longest time between two probes. */
const FIRST_PROBE_SECONDS = 5;
export const LAST_PROBE_SECONDS = 300;

/** If the result of a probe isn't known after this time, its run was killed, and another probe is sent. */
export const PROBE_LASTS_MS = 60_000;

/** A success changes a row only if calls have failed since the last success, or if effects wait. */
const isNoteworthy = sql`(${pauses.failing} <> '{}' or ${pauses.pausedAt} is not null or ${pauses.backlog})`;

/** Whether the result of an effect may change a row, even if its call did not fail. */
export const IS_NOTED = sql`exists (select from ${pauses} where ${pauses.kind} = ${effects.kind} and ${isNoteworthy})`;

/** A success of a handler's call is noted this often at most, so that runs don't queue for the row. */
const OK_EVERY = '10 seconds';

/** What one run learnt from its effects of one kind: about one host or, with an empty host, about the kind. */
export interface Answers {
  readonly kind: string;
  readonly host: string;
  /** How many calls have succeeded. */
  ok: number;
  /** How many effects that wait without a ticket get one now, if nothing is paused. */
  release: number;
  /** The events whose calls have failed because of the other side. */
  readonly failing: Set<string>;
  problem: string | null;
  /** The other side asked not to be called before this time. */
  retryAt: Date | null;
  /** Whether the probe was called, if one of the effects was the probe. */
  probe: 'called' | 'not_called' | null;
  /** Whether an effect was not sent because of its pause. */
  isHeld: boolean;
}

/** A row after the answers are noted. */
export interface PauseState {
  readonly kind: string;
  readonly host: string;
  readonly isPaused: boolean;
  readonly wasPaused: boolean;
  /** When the next probe is due, if this run must send its ticket. */
  readonly nextProbe: Date | null;
  /** How many waiting effects should get a ticket. */
  readonly release: number;
}

/** An effect that waited without a ticket, and gets one for the time `at`. */
export interface NextEffect extends EffectKey {
  readonly kind: string;
  readonly host: string;
  readonly at: Date;
}

/**
 * The CTEs `seen`, `noted`, `wanted` and `released`: they write the answers, and take the effects that get tickets. Rows change
 * only if there is something to change, so a success writes nothing while nothing has failed. Rows are locked in the order of
 * their keys. `own` selects the keys of effects that must not be released: those whose results this statement writes.
 */
export function noteAnswers(answers: readonly Answers[], run: string, now: Date, own: SQL): SQL {
  const isOk = sql`excluded.ok_at is not null`;
  const isSeen = sql`(seen.kind, seen.host) = (excluded.kind, excluded.host)`;
  const probe = sql`case when ${pauses.pausedAt} is not null then (select probe from seen where ${isSeen}) end`;
  const failing = sql`array(select distinct unnest(${pauses.failing} || excluded.failing) limit ${EVENTS_TO_PAUSE})`;
  const begins = sql`(${pauses.pausedAt} is null
        and (excluded.paused_at is not null or cardinality(${failing}) >= ${EVENTS_TO_PAUSE}))`;
  const retryAt = sql`(select retry_at from seen where ${isSeen})`;
  const nextSeconds = sql`case when cardinality(excluded.failing) > 0
        then least(${LAST_PROBE_SECONDS}, 2 * ${pauses.probeSeconds}) else ${pauses.probeSeconds} end`;
  const first = sql`make_interval(secs => ${FIRST_PROBE_SECONDS})`;
  return sql`
    seen as (
      select kind, host, ok, release, array(select jsonb_array_elements_text(failing)) as failing, problem, retry_at, probe
      from ${rowsOf('given', answers, {
        kind: ['text', ({ kind }) => kind],
        host: ['text', ({ host }) => host],
        ok: ['int', ({ ok }) => ok],
        release: ['int', ({ release }) => release],
        failing: ['jsonb', ({ failing }) => JSON.stringify([...failing])],
        problem: ['text', ({ problem }) => problem],
        retry_at: ['timestamptz', ({ retryAt }) => retryAt],
        probe: ['text', ({ probe }) => probe],
      })}
    ),
    noted as (
      insert into ${pauses} (
        ${column.kind}, ${column.host}, ${column.failing}, ${column.lastError}, ${column.okAt}, ${column.pausedAt},
        ${column.probeAt}, ${column.probeSeconds}, ${column.changedAt}
      )
      select kind, host, case when ok > 0 then '{}' else failing end, problem, case when ok > 0 then ${at(now)} end,
             case when ok = 0 and (cardinality(failing) >= ${EVENTS_TO_PAUSE} or retry_at is not null) then ${at(now)} end,
             greatest(${at(now)} + ${first}, retry_at), ${FIRST_PROBE_SECONDS}, ${at(now)}
      from seen
      where cardinality(failing) > 0 or exists (
        select from ${pauses} where (${pauses.kind}, ${pauses.host}) = (seen.kind, seen.host) and (
          ${isNoteworthy} or ${pauses.runs} ? ${run}))
      -- Hosts before kinds, as in the statement that loads effects.
      order by host = '', kind, host
      on conflict (${column.kind}, ${column.host}) do update set
        ${column.failing} = case when ${isOk} then '{}' else ${failing} end,
        ${column.lastError} = coalesce(excluded.last_error, ${pauses.lastError}),
        ${column.okAt} = coalesce(excluded.ok_at, ${pauses.okAt}),
        -- What an operator has paused, only an operator resumes.
        ${column.pausedAt} = case
          when ${pauses.pausedBy} is not null then ${pauses.pausedAt}
          when ${isOk} then null
          when ${begins} then ${at(now)}
          else ${pauses.pausedAt} end,
        ${column.probeSeconds} = case
          when ${begins} then ${FIRST_PROBE_SECONDS}
          when ${probe} = 'called' then ${nextSeconds}
          else ${pauses.probeSeconds} end,
        ${column.probeAt} = case
          when ${begins} then greatest(${at(now)} + ${first}, ${retryAt})
          when ${probe} = 'called' then greatest(${at(now)} + make_interval(secs => ${nextSeconds}), ${retryAt})
          when ${probe} = 'not_called' then ${at(now)}
          else ${pauses.probeAt} end,
        ${column.backlog} = ${pauses.backlog} or (${isOk} and ${pauses.pausedAt} is not null and ${pauses.pausedBy} is null),
        ${column.runs} = ${pauses.runs} - ${run}::text,
        ${column.changedAt} = ${at(now)}
      returning ${pauses.kind} as kind, ${pauses.host} as host, ${pauses.pausedAt} as paused_at,
        ${pauses.pausedBy} as paused_by, ${pauses.probeAt} as probe_at, ${pauses.backlog} as backlog
    ),
    wanted as (
      select kind, host, probe_at as at, 1 as number
      from noted join seen using (kind, host)
      where paused_at is not null and paused_by is null and (paused_at = ${at(now)} or probe is not null)
      union all
      select kind, host, ${at(now)}, release from noted join seen using (kind, host) where backlog and paused_at is null
    ),
    ${releaseWanted(now, own)}`;
}

/** Selects the `PauseState` of each row that `noteAnswers` changed, and the effects that it released. */
export function statesOf(now: Date): SQL {
  return sql`
    select noted.kind, noted.host, noted.paused_at is not null as "isPaused",
           exists (select from ${pauses} where (${pauses.kind}, ${pauses.host}) = (noted.kind, noted.host)
             and ${pauses.pausedAt} is not null) as "wasPaused",
           (select at from wanted where (wanted.kind, wanted.host) = (noted.kind, noted.host) and noted.paused_at is not null)
             as "nextProbe",
           coalesce((select number from wanted where (wanted.kind, wanted.host) = (noted.kind, noted.host)
             and noted.paused_at is null), 0) as release,
           null as source, null as "eventId", null as name, ${at(now)} as at
    from noted
    union all
    select kind, host, false, false, null, 0, source, event_id, name, at from released`;
}

/** The CTE `released`: for each row of `wanted`, takes `number` effects without a ticket. The longest wait goes first. */
function releaseWanted(now: Date, own: SQL): SQL {
  return sql`
    released as (
      update ${effects} set ${effectColumn.dueAt} = chosen.at + ${`${TICKET_GRACE_MS} milliseconds`}::interval
      from (
        select wanted.kind, wanted.host, wanted.at, waiting.source, waiting.event_id, waiting.name
        from wanted cross join lateral (
          select other.source, other.event_id, other.name from ${effects} as other
          where other.status = 'pending' and other.host is not null and other.kind = wanted.kind
            and (wanted.host = '' or other.host = wanted.host)
            and other.due_at <= ${at(now)} and coalesce(other.not_before <= wanted.at, true)
            and (other.source, other.event_id, other.name) not in (${own})
            and not exists (
              select from ${pauses} where ${pauses.kind} = wanted.kind and ${pauses.host} in ('', other.host)
                and ${pauses.pausedAt} is not null
                and (${pauses.kind}, ${pauses.host}) not in (select kind, host from wanted))
          order by other.due_at limit wanted.number for update skip locked
        ) as waiting
      ) as chosen
      where (${effects.source}, ${effects.eventId}, ${effects.name}) = (chosen.source, chosen.event_id, chosen.name)
      returning chosen.kind, chosen.host, chosen.at, chosen.source, chosen.event_id, chosen.name
    )`;
}

interface NextEffectRow extends Omit<NextEffect, 'at'> {
  readonly at: string;
}

const releasedColumns = sql`kind, host, source, event_id as "eventId", name, at`;

const NO_KEYS = sql`select ''::text, ''::text, ''::text where false`;

/** The CTE that deletes rows that have not changed for two days and keep nothing waiting. */
const prunedPauses = (now: Date) => sql`
    pruned as (
      delete from ${pauses} where ${pauses.changedAt} < ${at(now)} - interval '2 days'
        and ${pauses.pausedAt} is null and not ${pauses.backlog} and coalesce(${pauses.lineAt} < ${at(now)}, true)
    )`;

/**
 * With `only`: takes waiting effects of that kind and host, if it has a backlog. Without: takes one effect for each row whose
 * probe is overdue, or that has a backlog which perhaps no run works on, and deletes old rows.
 *
 * If nothing waits, it closes the backlog, unless the row changed since this statement read it: an effect may have begun to wait
 * meanwhile.
 */
export async function takeWaiting(
  db: Database,
  now: Date,
  only?: { readonly kind: string; readonly host: string; readonly number: number },
): Promise<NextEffect[]> {
  const isWanted = only
    ? sql`(${pauses.kind}, ${pauses.host}) = (${only.kind}, ${only.host}) and ${pauses.backlog} and ${pauses.pausedAt} is null`
    : sql`(${pauses.backlog} and ${pauses.pausedAt} is null)
        or (${pauses.pausedAt} is not null and ${pauses.pausedBy} is null
          and ${pauses.probeAt} <= ${at(new Date(now.getTime() - PROBE_LASTS_MS))})`;
  const rows = await run<NextEffectRow>(
    db,
    sql`
    with wanted as (
      select ${pauses.kind} as kind, ${pauses.host} as host, ${pauses}.xmin as version, ${pauses.pausedAt} as paused_at,
             ${at(now)} as at, ${only?.number ?? 1}::int as number
      from ${pauses} where ${isWanted}
    ),
    ${releaseWanted(now, NO_KEYS)},
    closed as (
      update ${pauses} set ${column.backlog} = false, ${column.changedAt} = ${at(now)} from wanted
      where (${pauses.kind}, ${pauses.host}) = (wanted.kind, wanted.host) and ${pauses}.xmin = wanted.version
        and wanted.paused_at is null and not exists (
          select from released where (released.kind, released.host) = (wanted.kind, wanted.host))
    )${only ? sql`` : sql`, ${prunedPauses(now)}`}
    select ${releasedColumns} from released`,
  );
  return rows.map((row) => ({ ...row, at: new Date(row.at) }));
}

/** Notes that calls of handlers to these hosts have succeeded. Only hosts that failed lately have a row, so no other is noted. */
export async function noteSuccess(db: Database, hosts: readonly string[], now: Date): Promise<void> {
  await run(
    db,
    sql`
    update ${pauses} set ${column.okAt} = ${at(now)}, ${column.changedAt} = ${at(now)}
    where ${pauses.kind} = '' and ${pauses.host} = any(${sql.param([...hosts])}::text[])
      and coalesce(${pauses.okAt} < ${at(now)} - ${OK_EVERY}::interval, true)`,
  );
}

/** The CTE `hosts`: gives each of these hosts a row, so that `noteSuccess` notes when a call of a handler to it succeeds. */
export function noteFailingHosts(
  failed: readonly { readonly host: string; readonly problem: string }[],
  now: Date,
): SQL {
  const byHost = new Map(failed.map((one) => [one.host, one]));
  return sql`
    hosts as (
      insert into ${pauses} (${column.kind}, ${column.host}, ${column.lastError}, ${column.changedAt})
      select '', host, problem, ${at(now)} from ${rowsOf('given', [...byHost.values()], {
        host: ['text', ({ host }) => host],
        problem: ['text', ({ problem }) => problem],
      })}
      order by host
      on conflict (${column.kind}, ${column.host}) do update set
        ${column.lastError} = excluded.last_error, ${column.changedAt} = excluded.changed_at
    )`;
}

/** The hosts that handlers failed to call lately, and when a call to each last succeeded. See `judge`. */
export const FAILING_HOSTS = sql`
  (select json_object_agg(${pauses.host}, ${pauses.okAt}) from ${pauses} where ${pauses.kind} = '')`;

/** A limit of a kind, as `defineEffect` has it. */
export interface KindLimit {
  readonly kind: string;
  readonly perSecond: number | null;
  readonly atOnce: number | null;
  readonly pauseSeconds: number;
}

/** The run waits for the time of a call if it comes this soon, because a queue delays messages by whole seconds. */
const SOON = '1 second';

/**
 * The CTE `placed`, and those that it needs: which effects of limited kinds may be sent now, and when. `goes` is null if the kind
 * had no row yet: this statement inserts it, and the caller runs the statement again. Effects that must wait are written in the
 * same statement. With `perSecond`, each gets a time in the line, and a ticket for that time. With `atOnce`, each waits without
 * a ticket until a call ends; the run that made the call sends it one.
 */
export function placeLimited(
  keys: readonly EffectKey[],
  limits: readonly KindLimit[],
  { now, run, until }: { readonly now: Date; readonly run: string; readonly until: Date },
): SQL {
  const seconds = (value: SQL) => sql`make_interval(secs => ${value})`;
  const soon = sql`${at(now)} + ${SOON}::interval`;
  const running = sql`jsonb_each(coalesce(locked.runs, '{}')) as one where (value ->> 'until')::timestamptz > ${at(now)}`;
  return sql`
    limits as (
      select * from ${rowsOf('limits', limits, {
        kind: ['text', ({ kind }) => kind],
        per_second: ['float', ({ perSecond }) => perSecond],
        at_once: ['int', ({ atOnce }) => atOnce],
        pause_seconds: ['float', ({ pauseSeconds }) => pauseSeconds],
      })}
    ),
    candidates as (
      select ${effects.kind} as kind, ${effects.source} as source, ${effects.eventId} as event_id, ${effects.name} as name,
             limits.per_second, limits.at_once,
             row_number() over (partition by ${effects.kind} order by ${effects.slotAt} nulls last, ${effects.dueAt}) as number,
             count(*) over (partition by ${effects.kind}) as of_kind,
             count(${effects.slotAt}) over (partition by ${effects.kind}) as from_line
      from ${rowsOf('key', keys, EFFECT_KEY)} join ${effects} on ${isKey} join limits on limits.kind = ${effects.kind}
      where ${effects.status} = 'pending' and coalesce(${effects.notBefore} <= ${soon}, true)
        and (coalesce(${effects.failingSince} <= ${at(now)} - ${seconds(sql`limits.pause_seconds`)}, false)
          or not exists (
            select from ${pauses} where ${pauses.kind} = ${effects.kind} and ${pauses.pausedAt} is not null
              and ${pauses.host} in ('', coalesce(${effects.host}, ''))
              and (${pauses.kind}, ${pauses.host}) not in (select kind, host from probing)))
    ),
    made as (
      insert into ${pauses} (${column.kind}, ${column.host}, ${column.changedAt})
      select distinct kind, '', ${at(now)} from candidates
      where not exists (select from ${pauses} where (${pauses.kind}, ${pauses.host}) = (candidates.kind, ''))
      on conflict do nothing
    ),
    locked as (
      select ${pauses.kind} as kind, ${pauses.nextAt} as next_at, ${pauses.lineAt} as line_at, ${pauses.runs} as runs
      from ${pauses} where ${pauses.host} = '' and ${pauses.kind} in (select kind from candidates)
      order by ${pauses.kind} for update of ${lockName(pauses)}
    ),
    free as (
      select locked.*, begins, of_kind, per_second,
             case when at_once is not null
               then least(of_kind, greatest(0, at_once - (select coalesce(sum((value ->> 'calls')::int), 0) from ${running})))
               else least(
                 -- While there is a line, only its effects may go: no other one overtakes it.
                 case when coalesce(locked.line_at <= ${soon}, true) then of_kind else from_line end,
                 greatest(0, ceil(date_part('epoch', ${soon} - begins) * per_second)))
             end as going
      from locked join (select distinct kind, per_second, at_once, of_kind, from_line from candidates) as wanted using (kind)
        cross join lateral (select greatest(locked.next_at, ${at(now)}) as begins) as start
    ),
    placed as (
      select candidates.source, candidates.event_id, candidates.name, number <= going as goes,
             case when candidates.per_second is not null then
               case when number <= going then begins + ${seconds(sql`(number - 1) / candidates.per_second`)}
                 else greatest(free.line_at, begins + ${seconds(sql`going / candidates.per_second`)})
                   + ${seconds(sql`(number - going - 1) / candidates.per_second`)} end
             end as slot_at
      from candidates left join free using (kind)
    ),
    moved as (
      update ${pauses} set
        ${column.nextAt} = case when per_second is not null then begins + ${seconds(sql`going / per_second`)} end,
        ${column.lineAt} = case when of_kind > going and per_second is not null
          then greatest(free.line_at, begins + ${seconds(sql`going / per_second`)}) + ${seconds(sql`(of_kind - going) / per_second`)}
          else free.line_at end,
        ${column.runs} = case when per_second is null then
          (select coalesce(jsonb_object_agg(one.key, one.value), '{}') from jsonb_each(coalesce(free.runs, '{}')) as one
           where (value ->> 'until')::timestamptz > ${at(now)})
          || case when going > 0 then jsonb_build_object(${run}::text, jsonb_build_object('calls', going, 'until', ${at(until)}))
            else '{}' end end,
        ${column.backlog} = ${pauses.backlog} or (per_second is null and of_kind > going),
        ${column.changedAt} = ${at(now)}
      from free where (${pauses.kind}, ${pauses.host}) = (free.kind, '')
    ),
    lined as (
      update ${effects} set
        ${effectColumn.slotAt} = placed.slot_at,
        ${effectColumn.notBefore} = coalesce(placed.slot_at, ${effects.notBefore}),
        ${effectColumn.dueAt} = coalesce(placed.slot_at + ${`${TICKET_GRACE_MS} milliseconds`}::interval, ${at(now)}),
        ${effectColumn.host} = case when placed.slot_at is null then coalesce(${effects.host}, '') else ${effects.host} end,
        ${effectColumn.begunAt} = null
      from placed where (${effects.source}, ${effects.eventId}, ${effects.name}) = (placed.source, placed.event_id, placed.name)
        and not placed.goes and ${effects.status} = 'pending'
    )`;
}

/**
 * The CTE `probing`: if the next probe is due for a kind and host that these effects have failed at, this run may send it. If
 * several runs ask at the same time, only one may.
 */
export function takeProbes(keys: readonly EffectKey[], now: Date): SQL {
  const soon = at(new Date(now.getTime() + 1000));
  return sql`
    probing as (
      update ${pauses} set ${column.probeAt} = ${at(new Date(now.getTime() + PROBE_LASTS_MS))}, ${column.changedAt} = ${at(now)}
      where ${pauses.pausedAt} is not null and ${pauses.pausedBy} is null and ${pauses.probeAt} <= ${soon}
        and exists (
          select from ${rowsOf('key', keys, EFFECT_KEY)} join ${effects} on ${isKey}
          where (${effects.kind}, ${effects.host}) = (${pauses.kind}, ${pauses.host}) and ${effects.status} = 'pending'
            and coalesce(${effects.notBefore} <= ${soon}, true))
      returning ${pauses.kind} as kind, ${pauses.host} as host
    )`;
}

const isKey = sql`(${effects.source}, ${effects.eventId}, ${effects.name}) = (key.source, key.event_id, key.name)`;

/** After how many seconds of failures a pause doesn't hold an effect any more: the default, and that of kinds with `pauseFor`. */
export interface PauseSeconds {
  readonly usual: number;
  readonly kinds: readonly { readonly kind: string; readonly seconds: number }[];
}

/** Whether an effect waits for a pause or in a backlog: a run or `takeWaiting` sends its ticket, so the sweep must not. */
export function waitsForOthers(now: Date, { usual, kinds }: PauseSeconds): SQL {
  const seconds = JSON.stringify(Object.fromEntries(kinds.map(({ kind, seconds }) => [kind, seconds])));
  const isPatient = sql`${effects.failingSince} > ${at(now)}
            - make_interval(secs => coalesce((${seconds}::jsonb ->> ${effects.kind})::float, ${usual}::float))`;
  return sql`exists (
        select from ${pauses} where ${pauses.kind} = ${effects.kind} and ${pauses.host} in ('', ${effects.host})
          and ${effects.host} is not null and (${pauses.backlog} or ${pauses.pausedBy} is not null
            or (${pauses.pausedAt} is not null and coalesce(${isPatient}, true))))`;
}

/** How many effects wait for a pause. */
export const HELD = sql`(
    select count(*) from ${effects} where ${effects.status} = 'pending' and ${effects.kind} = ${pauses.kind}
      and ${effects.host} is not null and (${pauses.host} = '' or ${effects.host} = ${pauses.host}))`;

/** Whether the kind of an effect, or the host that it has failed at, is paused. */
export const IS_PAUSED = sql`exists (
    select from ${pauses} where ${pauses.kind} = ${effects.kind} and ${pauses.host} in ('', ${effects.host})
      and ${effects.host} is not null and ${pauses.pausedAt} is not null)`;

/** What an operator pauses or resumes. Without a host, the whole kind is paused, or all its pauses end. */
export interface PauseKey {
  readonly kind: string;
  readonly host: string | undefined;
}

/** Pauses a kind, or its calls to one host, until an operator resumes it. */
export async function pauseKind(db: Database, { kind, host = '' }: PauseKey, who: string, now: Date): Promise<[]> {
  await run(
    db,
    sql`
    insert into ${pauses} (${column.kind}, ${column.host}, ${column.pausedAt}, ${column.pausedBy}, ${column.changedAt})
    values (${kind}, ${host}, ${at(now)}, ${who}, ${at(now)})
    on conflict (${column.kind}, ${column.host}) do update set
      ${column.pausedAt} = coalesce(${pauses.pausedAt}, excluded.paused_at), ${column.pausedBy} = excluded.paused_by,
      ${column.changedAt} = excluded.changed_at`,
  );
  return [];
}

/**
 * `resume` ends the pauses. `try` makes the next probe due now, only for a pause that failures have set. Returns one waiting
 * effect of each pause; when it succeeds, others follow. `undefined` if nothing was changed.
 */
export async function resumeKind(
  db: Database,
  { kind, host }: PauseKey,
  action: 'resume' | 'try',
  now: Date,
): Promise<NextEffect[] | undefined> {
  const isMeant = sql`${pauses.kind} = ${kind} and ${pauses.pausedAt} is not null
      and ${host === undefined ? sql`true` : sql`${pauses.host} = ${host}`}`;
  const changed =
    action === 'resume'
      ? sql`update ${pauses} set ${column.pausedAt} = null, ${column.pausedBy} = null, ${column.failing} = '{}',
              ${column.backlog} = true, ${column.changedAt} = ${at(now)} where ${isMeant}`
      : sql`update ${pauses} set ${column.probeAt} = ${at(now)}, ${column.changedAt} = ${at(now)}
            where ${isMeant} and ${pauses.pausedBy} is null`;
  const rows = await run<NextEffectRow | { readonly source: null }>(
    db,
    sql`
    with wanted as (
      ${changed} returning ${pauses.kind} as kind, ${pauses.host} as host, ${at(now)} as at, 1 as number
    ),
    ${releaseWanted(now, NO_KEYS)}
    select ${releasedColumns} from released
    union all select kind, host, null, null, null, at from wanted`,
  );
  if (rows.length === 0) return undefined;
  return rows.flatMap((row) => (row.source === null ? [] : [{ ...row, at: new Date(row.at) }]));
}
