import { UserError } from '../lib/user-error.ts';
import { WRONG_USAGE } from './api.ts';

/** The options that say which events. The API calls the id `q`. */
export interface FilterOptions {
  readonly source?: string | undefined;
  readonly status?: string | undefined;
  readonly type?: string | undefined;
  readonly failure?: string | undefined;
  readonly 'effect-status'?: string | undefined;
  readonly id?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** The filter of the API. A field that is not set doesn't restrict. */
export function filterOf(options: FilterOptions, now: Date): Record<string, string> {
  const { source, status, type, failure, 'effect-status': effect_status, id, since, until } = options;
  const fields = {
    source,
    status,
    type,
    failure,
    effect_status,
    q: id,
    since: timeOf('since', since, now),
    until: timeOf('until', until, now),
  };
  return Object.fromEntries(Object.entries(fields).filter((field): field is [string, string] => Boolean(field[1])));
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `30m`, `2h`, `7d`, `today`, or a time. A time without a zone is in UTC, like all times that are printed. */
function timeOf(option: string, text: string | undefined, now: Date): string | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit = ''] = /^(\d+)([mhd])$/.exec(text) ?? [];
  if (amount !== undefined) return new Date(now.getTime() - Number(amount) * (UNIT_MS[unit] ?? 0)).toISOString();
  // Since midnight where the operator is.
  if (text === 'today') return new Date(now.getFullYear(), now.getMonth(), now.getDate()).toISOString();
  const [isTime, clock, zone] = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/.exec(text) ?? [];
  const time = Date.parse(clock && !zone ? `${text}Z` : text);
  if (isTime === undefined || Number.isNaN(time)) {
    throw new UserError(`--${option} takes 30m, 2h, 7d, today, or a time such as 2026-01-31T12:00Z`, WRONG_USAGE);
  }
  return new Date(time).toISOString();
}
