// How the pages and `npm run ops` say the same thing.
import type { Problem } from '../db/problems.ts';
import type { ActionName } from '../db/schema.ts';
import type { PauseStatus, ReconcileStatus, Status } from '../db/status.ts';
import type { EventDetails } from '../db/views.ts';
import { counted, countedBoth, sum } from '../shared/counts.ts';

/** What an action has done: before a number, and in the history of an event. */
export const DONE: Readonly<Record<ActionName, { readonly title: string; readonly past: string }>> = {
  retry: { title: 'Retried', past: 'retried' },
  discard: { title: 'Discarded', past: 'discarded' },
  rerun: { title: 'Running again:', past: 'run again' },
};

const UNITS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
] as const;

/** `0.4 s`, `12 s`, `3 min`, `2 h`, `5 d`. */
export function duration(seconds: number): string {
  const unit = UNITS.find(([size]) => seconds >= size);
  if (unit) return `${Math.floor(seconds / unit[0])} ${unit[1]}`;
  return `${seconds >= 10 || Number.isInteger(seconds) ? Math.round(seconds) : seconds.toFixed(1)} s`;
}

/** `4 s ago`, `in 2 h`. */
export function relative(at: string, now: Date): string {
  const seconds = Math.round((now.getTime() - Date.parse(at)) / 1000);
  return seconds < 0 ? `in ${duration(-seconds)}` : `${duration(seconds)} ago`;
}

/** When something is tried next: `in 12 s`, or `now`, while the queue brings its ticket. */
export function upcoming(at: string, now: Date): string {
  const time = relative(at, now);
  return time.startsWith('in ') ? time : 'now';
}

/** In UTC: `09:03` today, and `17 Nov 09:03` on another day. */
export function clock(at: string, now: Date): string {
  const time = new Date(at).toISOString();
  const date = new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
  return time.slice(0, 10) === now.toISOString().slice(0, 10) ? time.slice(11, 16) : `${date} ${time.slice(11, 16)}`;
}

/** What is wrong, and since when. */
export function headline(
  { totals, effects, problems, sources, pauses }: Omit<Status, 'effect_kinds' | 'reconciles'>,
  now: Date,
) {
  const isParked = totals.parked + effects.parked > 0;
  const those = problems.filter(({ status }) => status === (isParked ? 'parked' : 'pending'));
  const [since] = those.flatMap((problem) => problem.since ?? []).sort();
  const when = since ? `, since ${clock(since, now)} UTC` : '';
  const of = (what: Problem['what']) => sum(those.filter((problem) => problem.what === what).map(({ count }) => count));
  const counts = isParked
    ? { events: totals.parked, effects: effects.parked }
    : { events: of('event'), effects: of('effect') };
  const isOne = counts.events + counts.effects === 1;
  if (isParked) return `${countedBoth(counts)} ${isOne ? 'is' : 'are'} parked${when}`;
  if (those.length > 0) return `${countedBoth(counts)} ${isOne ? 'keeps' : 'keep'} failing${when}`;
  const [paused] = pauses;
  if (paused)
    return `${pauses.length === 1 ? paused.kind : counted(pauses.length, 'host')} ${pauses.length === 1 ? 'is' : 'are'} paused`;
  const silent = sources.filter(({ unusually_silent }) => unusually_silent).length;
  return silent === 0 ? 'Nothing is parked' : `${counted(silent, 'source')} ${silent === 1 ? 'is' : 'are'} silent`;
}

/** `slack is paused since 09:03: hooks.slack.com answered 503; 214 effects wait; next try in 40 s`. */
export function pauseText({ kind, host, paused_at, paused_by, ...row }: PauseStatus, now: Date): string {
  const { last_error, waiting, next_try_at } = row;
  const who = paused_by === null ? `: ${last_error ?? 'it failed'}` : ` by ${paused_by}${host ? `, at ${host}` : ''}`;
  const wait = `${counted(waiting, 'effect')} ${waiting === 1 ? 'waits' : 'wait'}`;
  const next = next_try_at === null ? [] : [`next try ${upcoming(next_try_at, now)}`];
  return [`${kind} is paused since ${clock(paused_at, now)}${who}`, wait, ...next].join('; ');
}

/**
 * What asking the provider has shown: `asked 09:15, complete until 08:15: 1,204 sent, 1,204 here. 3 were missing since
 * 17 Nov 02:00`, and why it could not be asked.
 */
export function reconcileText(row: ReconcileStatus, now: Date): string {
  const { asked_at, complete_until, listed, missing, found, found_since, found_at, problem, problem_since } = row;
  const at = (time: string) => clock(time, now);
  const sent = `${listed.toLocaleString('en')} sent, ${(listed - missing).toLocaleString('en')} here`;
  const asked = asked_at === null ? 'asked at the next tick' : `asked ${at(asked_at)}`;
  const parts = [`${asked}, complete until ${at(complete_until)}${asked_at === null ? '' : `: ${sent}`}`];
  if (found > 0 && found_since && found_at) {
    parts.push(
      `${found.toLocaleString('en')} ${found === 1 ? 'was' : 'were'} missing since ${at(found_since)}, found ${at(found_at)}`,
    );
  }
  if (problem && problem_since) parts.push(`${problem} since ${at(problem_since)}: ${row.last_error}`);
  if (row.not_before && Date.parse(row.not_before) > now.getTime()) parts.push(`waits until ${at(row.not_before)}`);
  return parts.join('. ');
}

/** `5 of 12` while more attempts can follow and when all are used up, otherwise `5`. */
export function attemptsOf(one: { status: string; attempts: number; max_attempts: number | null }): string {
  const { status, attempts, max_attempts: max } = one;
  return max !== null && (status === 'pending' || attempts === max) ? `${attempts} of ${max}` : String(attempts);
}

/** `parked after 12 attempts`. */
export function wasText({ status, attempts }: { readonly status: string; readonly attempts: number }): string {
  return `${status} after ${counted(attempts, 'attempt')}`;
}

type Action = EventDetails['actions'][number];

/** What an action was about, if it was not the event itself: `effect receipt `, `4 effects `. */
export function subjectText({ was, effects = [] }: Pick<Action, 'was' | 'effects'>): string {
  if (was !== undefined || effects.length === 0) return '';
  return effects.length > 3
    ? `${effects.length} effects `
    : `effect${effects.length === 1 ? '' : 's'} ${effects.join(', ')} `;
}

/** Where the code of src has thrown an error: `order-paid.ts:24`, and the path from the root of the repository. */
export function placeOf(position: string | null): { readonly short: string; readonly path: string } | undefined {
  const path = /(?<![\w/.-])src\/[^\s():]+:\d+/.exec(position ?? '')?.[0];
  return path === undefined ? undefined : { short: path.replace(/^.*\//, ''), path };
}

/** As much of an error as is read at a glance: without the JSON that may follow it. */
export function beginningOfError(error: string): string {
  const [line = ''] = /[^\n]{1,160}/.exec(error) ?? [];
  const beginning = /^[^{]{20,}/.exec(line)?.[0] ?? line;
  return beginning.length < error.length ? `${beginning.trimEnd()}…` : error;
}

/** What has failed, without the error itself: `stripe, invoice.paid, permanent, invoice-paid.ts:24`. */
export function originOf({ source, type, kinds, failure, position }: Problem): string[] {
  const kind = kinds.length > 0 ? `effect ${kinds.join(', ')}` : undefined;
  return [source, type, kind, failure, placeOf(position)?.short].filter((one) => one !== undefined && one !== null);
}

/** As one word of a command for a shell. Not every provider signs its ids, so somebody else may have written them. */
export function quoted(text: string): string {
  return /^[\w.:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
