import type { PauseStatus, ReconcileStatus, Status } from '../../src/db/status.ts';
import type { ListedEvent } from '../../src/db/views.ts';
import type { ShownEvent } from '../../src/ops/api.ts';
import type { ListedTenant } from '../../src/ops/tenants.ts';
import {
  attemptsOf,
  clock,
  duration,
  headline,
  originOf,
  pauseText,
  placeOf,
  reconcileText,
  relative,
  upcoming,
} from '../../src/ops/words.ts';
import { counted, sum } from '../../src/shared/counts.ts';

/**
 * Ids, types, errors and bodies come from outside. A control character in them could rewrite the terminal, and a bidi
 * character could turn the text around, so both are shown as escapes.
 */
export function printable(text: string, keep = ''): string {
  const escaped = (char: string) => (keep.includes(char) ? char : `\\u{${char.codePointAt(0)?.toString(16)}}`);
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, escaped);
}

/** What there is of a line's parts, two spaces apart. */
function line(...parts: (string | null | undefined | false)[]): string {
  return printable(parts.filter(Boolean).join('  '));
}

/** What is wrong, in the words of the console's overview, then the sources. */
export function statusText(status: Status, now: Date): string {
  const problems = status.problems.map((problem) => {
    const { count, what, since, next_attempt_at: next, error } = problem;
    const again = problem.status === 'pending' && ' tried again';
    const when = [since && `since ${clock(since, now)}`, next && `next try ${upcoming(next, now)}`];
    return line(counted(count, what) + (again || ''), ...when, originOf(problem).join(', '), error);
  });
  const waiting = (pending: number, oldest: string | null, parked: number) =>
    `${pending} pending${oldest ? ` (the oldest ${relative(oldest, now)})` : ''}, ${parked} parked`;
  const sources = status.sources.map((source) => {
    const { last_accepted_at: last, oldest_pending_at: oldest, seconds_to_done: took, pending, parked } = source;
    const came = `${sum(source.accepted_per_hour)} in 24 h${last ? `, the last ${relative(last, now)}` : ''}`;
    const times = took.p50 !== null && took.p95 !== null && `p50 ${duration(took.p50)}, p95 ${duration(took.p95)}`;
    return line(`${source.source}: ${came}`, waiting(pending, oldest, parked), times);
  });
  const { pending, oldest_pending_at: oldest, parked, sent_last_day: sent } = status.effects;
  const effects = `effects: ${sent} sent in 24 h  ${waiting(pending, oldest, parked)}`;
  const reconciles = status.reconciles.map((row) => reconcileLine(row, now));
  const pauses = status.pauses.map((row) => pauseLine(row, now));
  return [headline(status, now), ...problems, ...pauses, '', ...sources, effects, ...reconciles].join('\n');
}

export function pauseLine(row: PauseStatus, now: Date): string {
  return line(pauseText(row, now));
}

/** What asking the provider of a source has shown. */
export function reconcileLine(row: ReconcileStatus, now: Date): string {
  return line(`${row.source}, reconciled: ${reconcileText(row, now)}`);
}

/** One event of a list. The time is that of its receipt, in UTC. */
export function listLine(event: ListedEvent): string {
  const { source, event_id, type, status, failure, last_error, parked_effects, effect_error, summary } = event;
  const shown = parked_effects > 0 ? `${status}, ${counted(parked_effects, 'effect')} parked` : status;
  const why =
    status === 'ignored' && summary ? [summary] : [placeOf(event.position)?.short, last_error ?? effect_error];
  const time = new Date(event.received_at).toISOString().slice(0, 19);
  return line(`${time}Z`, source, event_id, type, shown, `attempts ${attemptsOf(event)}`, failure, ...why);
}

/** Of a tenant that is made again, the times of its erasure are those of its old events. */
export function tenantLine(tenant: ListedTenant, now: Date): string {
  const { address, secret, key, is_rotating, disabled_at: disabled, erase_asked_at: asked, erased_at: erased } = tenant;
  if (disabled === null) {
    return line(tenant.tenant, `${secret}, ${key} key`, is_rotating && 'two secrets', address);
  }
  const isMarked = asked !== null && asked >= disabled;
  const isErased = isMarked && erased !== null && erased >= asked;
  const erasure = isErased ? `erased ${relative(erased, now)}` : 'being erased';
  return line(tenant.tenant, `disabled ${relative(disabled, now)}`, isMarked && erasure);
}

/** The body as it was received: parsing would change long numbers. */
export function detailsText({ body, ...event }: ShownEvent): string {
  const details = JSON.stringify(event, (_, value: unknown) => value ?? undefined, 2);
  return `${printable(details, '\n')}\n\n${body === null ? 'the body has been pruned' : printable(body, '\n\t')}`;
}
