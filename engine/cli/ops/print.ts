import { type Status, sum } from '../../src/db/status.ts';
import type { ListedEvent } from '../../src/db/views.ts';
import type { ShownEvent } from '../../src/ops/api.ts';
import {
  attemptsOf,
  clock,
  counted,
  duration,
  headline,
  originOf,
  placeOf,
  relative,
  subjectText,
  upcoming,
  wasText,
} from '../../src/ops/words.ts';

/**
 * Ids, types, errors and bodies come from outside. A control character in them could rewrite the terminal, and a bidi
 * character could turn the text around, so both are shown as escapes.
 */
export function printable(text: string, keep = ''): string {
  const escaped = (char: string) => (keep.includes(char) ? char : `\\u{${char.codePointAt(0)?.toString(16)}}`);
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, escaped);
}

/** Columns that line up. On a terminal, a line ends where the terminal does. */
export function table(rows: readonly (readonly string[])[], width = process.stdout.columns): string {
  const safe = rows.map((row) => row.map((cell) => printable(cell)));
  const widths = safe[0]?.map((_, n) => Math.max(...safe.map((row) => row[n]?.length ?? 0))) ?? [];
  return safe
    .map((row) =>
      row
        .map((cell, n) => cell.padEnd(widths[n] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => (width && line.length > width ? `${line.slice(0, width - 1)}…` : line))
    .join('\n');
}

/** `2026-03-01 12:00:00`, in UTC. */
export function utc(time: string | null): string {
  return time === null ? '-' : new Date(time).toISOString().slice(0, 19).replace('T', ' ');
}

function age(time: string | null, now: Date): string {
  return time === null ? '-' : relative(time, now);
}

/** What is wrong, in the words of the console's overview, then the sources. */
export function statusText(status: Status, now: Date): string {
  const { sources, effects, problems } = status;
  const wrong = problems.map((problem) => [
    `  ${counted(problem.count, problem.what)}${problem.status === 'pending' ? ' tried again' : ''}`,
    problem.since === null ? '-' : `since ${clock(problem.since, now)}`,
    ...(problem.next_attempt_at === null ? [] : [`next try ${upcoming(problem.next_attempt_at, now)}`]),
    originOf(problem).join(', '),
    problem.error ?? '-',
  ]);
  const rows = sources.map((source) => [
    source.source,
    age(source.last_accepted_at, now),
    bars(source.accepted_per_hour),
    String(sum(source.accepted_per_hour)),
    String(source.pending),
    age(source.oldest_pending_at, now),
    String(source.parked),
    seconds(source.seconds_to_done.p50),
    seconds(source.seconds_to_done.p95),
  ]);
  const head = ['SOURCE', 'LAST', 'PER HOUR, 24 H', 'SUM', 'PENDING', 'OLDEST', 'PARKED', 'P50', 'P95'];
  const { pending, oldest_pending_at: oldest, parked, sent_last_day: sent } = effects;
  const since = oldest === null ? '' : ` (the oldest ${age(oldest, now)})`;
  return `${[headline(status, now), ...wrong.map((row) => table([row]))].join('\n')}

${table([head, ...rows])}

effects: ${pending} pending${since}, ${parked} parked, ${sent} sent in 24 h`;
}

function bars(counts: readonly number[]): string {
  const most = Math.max(1, ...counts);
  return counts.map((count) => (count === 0 ? '.' : '▁▂▃▄▅▆▇█'[Math.ceil((count / most) * 8) - 1])).join('');
}

function seconds(value: number | null): string {
  return value === null ? '-' : duration(value);
}

export const LIST_HEAD = ['RECEIVED (UTC)', 'SOURCE', 'EVENT', 'TYPE', 'STATUS', 'ATTEMPTS', 'FAILURE', 'WHY'];

export function listRow(event: ListedEvent): string[] {
  const { source, event_id, type, status, failure, last_error, parked_effects, effect_error, position, summary } =
    event;
  const shown = parked_effects > 0 ? `${status}, ${counted(parked_effects, 'effect')} parked` : status;
  const cells = [utc(event.received_at), source, event_id, type ?? '-', shown, attemptsOf(event), failure ?? '-'];
  if (status === 'ignored' && summary !== null) return [...cells, summary];
  return [...cells, [placeOf(position)?.short, last_error ?? effect_error].filter(Boolean).join(' ')];
}

export function detailsText(event: ShownEvent): string {
  const facts = [
    ['source', event.source],
    ['event', event.event_id],
    ['type', event.type ?? '-'],
    ['status', event.status],
    ['attempts', attemptsOf(event)],
    ['failure', event.failure ?? '-'],
    ['error', event.last_error ?? '-'],
    ['thrown at', placeOf(event.position)?.path ?? event.position ?? '-'],
    ...(event.failed_paths ? [['failed paths', event.failed_paths.join(', ')]] : []),
    ['summary', event.summary ?? '-'],
    ['received', utc(event.received_at)],
    ['finished', utc(event.finished_at)],
    ...(event.status === 'pending' ? [['next attempt', utc(event.not_before ?? event.due_at)]] : []),
    ...Object.entries(event.headers ?? {}),
  ];
  const effects = event.effects.map((effect) => [
    effect.name,
    effect.status,
    attemptsOf(effect),
    utc(effect.sent_at),
    effect.idempotency_key,
    effect.failure ?? '-',
    effect.last_error ?? '',
  ]);
  const actions = event.actions.map(({ at, who, action, reason, was, effects }) => [
    utc(at),
    who,
    `${action} ${subjectText({ was, effects })}`.trimEnd(),
    reason ?? '-',
    was ? [wasText(was), was.error].filter(Boolean).join(': ') : '',
  ]);
  return [
    table(facts),
    ...section(effects, ['EFFECT', 'STATUS', 'ATTEMPTS', 'SENT (UTC)', 'IDEMPOTENCY KEY', 'FAILURE', 'ERROR']),
    ...section(actions, ['AT (UTC)', 'WHO', 'ACTION', 'REASON', 'BEFORE']),
    '',
    // As it was received: parsing would change long numbers.
    event.body === null ? 'the body has been pruned' : printable(event.body, '\n\t'),
  ].join('\n');
}

function section(rows: string[][], head: string[]): string[] {
  return rows.length === 0 ? [] : ['', table([head, ...rows])];
}
