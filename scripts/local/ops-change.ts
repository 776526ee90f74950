import { Counts, Matching } from './ops-answers.ts';
import { NOTHING_MATCHED, type OpsApi, WRONG_USAGE } from './ops-api.ts';
import { ofOneEvent, pathOf } from './ops-read.ts';
import { UserError } from './user-error.ts';

export type Action = 'retry' | 'discard' | 'rerun';

export interface Change {
  readonly action: Action;
  readonly reason: string | undefined;
  readonly effects: boolean;
  readonly yes: boolean;
}

/** Asks the person at the terminal. Undefined if there is none. */
export type Ask = ((question: string) => Promise<string>) | undefined;

export interface Counted {
  readonly events: number;
  readonly effects: number;
}

/** Changes one event. Nobody has to confirm it, except a rerun. */
export async function changeOne(
  api: OpsApi,
  [source, id]: [string, string],
  change: Change,
  ask: Ask,
): Promise<Counted> {
  const path = pathOf(source, id);
  if (change.action === 'rerun') await confirm('rerun this event', change, ask);
  const counts = await ofOneEvent(api, () => api.post(`${path}/${change.action}`, orderOf(change), Counts));
  return orNothing(counts, nothingTo[change.action]);
}

/**
 * Changes all events that match. Their number is counted first, and shown. The change is refused if another number matches
 * by then, so that nothing is changed that nobody has seen.
 */
export async function changeMany(
  api: OpsApi,
  filter: Readonly<Record<string, string>>,
  change: Change,
  ask: Ask,
  say: (text: string) => void,
): Promise<Counted> {
  const order = { filter, ...orderOf(change) };
  const { matching } = await api.post(`/events/${change.action}?dry_run=1`, order, Matching);
  if (matching === 0) throw new UserError(`nothing matches that could be changed by ${change.action}`, NOTHING_MATCHED);
  await confirm(`${change.action} ${matching} ${matching === 1 ? 'event' : 'events'}`, change, ask);
  say(`${change.action} of ${matching} …`);
  return orNothing(
    await api.post(`/events/${change.action}`, { ...order, expected: matching }, Counts),
    nothingTo[change.action],
  );
}

function orderOf({ action, reason, effects }: Change): object {
  return { ...(reason === undefined ? {} : { reason }), ...(action === 'rerun' ? { effects } : {}) };
}

async function confirm(what: string, { action, yes }: Change, ask: Ask): Promise<void> {
  if (yes) return;
  const warning = action === 'rerun' ? ' THEIR CHANGES ARE MADE A SECOND TIME.' : '';
  if (!ask) throw new UserError(`this would ${what}.${warning} Say --yes if you mean it`, WRONG_USAGE);
  const answer = await ask(`${what}?${warning} [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new UserError('nothing was changed');
}

function orNothing(counts: Counted, text: string): Counted {
  if (counts.events + counts.effects > 0) return counts;
  throw new UserError(text, NOTHING_MATCHED);
}

const nothingTo: Readonly<Record<Action, string>> = {
  retry: 'nothing is parked there, so there is nothing to retry',
  discard: 'nothing is parked there, so there is nothing to discard',
  rerun: 'only a finished event whose body is still there can run again',
};

export function changedText({ action, effects: again }: Change, { events, effects }: Counted): string {
  const counts = `${plural(events, 'event')} and ${plural(effects, 'effect')}`;
  switch (action) {
    case 'retry':
      return `${counts} will be tried again now`;
    case 'discard':
      return `${counts} are discarded`;
    case 'rerun':
      return `${plural(events, 'event')} will run again now${again ? ', and send their effects again with the same idempotency keys' : ''}`;
  }
}

function plural(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}
