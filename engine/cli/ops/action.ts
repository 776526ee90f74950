import { ActionCounts, MAX_RERUN, Matching } from '../../src/db/actions.ts';
import type { ActionName } from '../../src/db/schema.ts';
import { ShownEvent } from '../../src/ops/api.ts';
import { counted, countedBoth } from '../../src/shared/counts.ts';

import { UserError } from '../lib/user-error.ts';
import { NOTHING_MATCHED, type OpsApi, pathOf, WRONG_USAGE } from './api.ts';
import { printable } from './print.ts';

/** What the operator has typed. */
export interface Action {
  readonly name: ActionName;
  readonly reason: string | undefined;
  readonly effects: boolean;
  readonly yes: boolean;
}

/** Asks the person at the terminal. Undefined if there is none. */
export type Ask = ((question: string) => Promise<string>) | undefined;

/** Nobody has to confirm an action on one event, except a rerun. */
export async function actOnOne(
  api: OpsApi,
  [source, id]: [string, string],
  action: Action,
  ask: Ask,
): Promise<ActionCounts> {
  const path = pathOf(source, id);
  const { name } = action;
  // The API refuses if the event has run again since this.
  const seen = name === 'rerun' ? await api.get(path, ShownEvent) : undefined;
  if (seen && !seen.finished_at) throw nothingToDo(name);
  if (seen) await confirm('rerun this event', action, ask);
  const body = { ...bodyOf(action), ...(seen ? { finished_at: seen.finished_at } : {}) };
  return orNothing(await api.post(`${path}/${name}`, body, ActionCounts), action);
}

/**
 * Acts on all events that match. First it shows what they are. The API refuses the action if other events match by then,
 * so that nothing is changed unseen.
 */
export async function actOnMany(
  api: OpsApi,
  filter: Readonly<Record<string, string>>,
  action: Action,
  ask: Ask,
): Promise<ActionCounts> {
  const { name } = action;
  const body = { filter, ...bodyOf(action) };
  const { matching, expected, groups } = await api.post(`/events/${name}?dry_run=1`, body, Matching);
  if (matching === 0) throw nothingToDo(name);
  if (name === 'rerun' && matching > MAX_RERUN) {
    throw new UserError(`at most ${counted(MAX_RERUN, 'event')} are run again at a time: choose fewer`, WRONG_USAGE);
  }
  const parts = groups.map((group) => {
    const { source, failure, event_ids, others } = group;
    const more = others > 0 ? ` and ${counted(others, 'other')}` : '';
    return `  ${countedBoth(group)}: ${[source, failure].filter(Boolean).join(', ')}: ${event_ids.join(', ')}${more}`;
  });
  await confirm(`${name} ${counted(matching, 'event')}`, action, ask, parts);
  return orNothing(await api.post(`/events/${name}`, { ...body, expected }, ActionCounts), action);
}

function bodyOf({ name, reason, effects }: Action): object {
  return { ...(reason === undefined ? {} : { reason }), ...(name === 'rerun' ? { effects } : {}) };
}

/** `name` is that of the action. */
export async function confirm(
  what: string,
  { name, yes }: { readonly name: string; readonly yes: boolean },
  ask: Ask,
  parts: readonly string[] = [],
): Promise<void> {
  if (yes) return;
  const warning = name === 'rerun' ? ' THEIR CHANGES ARE MADE A SECOND TIME.' : '';
  if (!ask) throw new UserError(`this would ${what}.${warning} Say --yes if you mean it`, WRONG_USAGE);
  const answer = await ask([...parts.map((part) => printable(part)), `${what}?${warning} [y/N] `].join('\n'));
  if (!/^y(es)?$/i.test(answer.trim())) throw new UserError('nothing was changed', WRONG_USAGE);
}

function orNothing(counts: ActionCounts, { name }: Action): ActionCounts {
  if (counts.events + counts.effects > 0) return counts;
  throw nothingToDo(name);
}

const NOTHING: Readonly<Record<ActionName, string>> = {
  retry: 'nothing there is parked or discarded, so there is nothing to retry',
  discard: 'nothing there is parked, so there is nothing to discard',
  rerun: 'only a finished event whose body is still there can run again',
};

function nothingToDo(name: ActionName): UserError {
  return new UserError(NOTHING[name], NOTHING_MATCHED);
}

const DONE: Readonly<Record<ActionName, string>> = {
  retry: 'will be tried again now',
  discard: 'are discarded',
  rerun: 'will run again now',
};

export function resultText({ name }: Action, { events, effects }: ActionCounts): string {
  return `${counted(events, 'event')} and ${counted(effects, 'effect')} ${DONE[name]}`;
}

/** The options that say which events, as the API names them. */
const FIELDS = {
  source: 'source',
  status: 'status',
  type: 'type',
  failure: 'failure',
  error: 'error',
  'effect-status': 'effect_status',
  id: 'q',
  since: 'since',
  until: 'until',
} as const;

/** The filter of the API. A field that is not set doesn't restrict. */
export function filterOf(options: { readonly [Option in keyof typeof FIELDS]?: string | undefined }, now: Date) {
  const filter: Record<string, string> = {};
  for (const option of Object.keys(FIELDS) as (keyof typeof FIELDS)[]) {
    const text = options[option];
    if (text === undefined) continue;
    const isTime = option === 'since' || option === 'until';
    // As `--source "$SOURCE"` is, if the variable is not set: without the condition, more events would match.
    if (text === '' && !isTime) throw new UserError(`--${option} is empty`, WRONG_USAGE);
    filter[FIELDS[option]] = isTime ? timeOf(option, text, now) : text;
  }
  return filter;
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `30m`, `2h`, `7d`, `today`, or a time. A time without a zone is in UTC, like all times that are printed. */
function timeOf(option: string, text: string, now: Date): string {
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
