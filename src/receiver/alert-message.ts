import type { Alert } from '../db/alerts.ts';

/** Slack and Discord cut or refuse long texts: Discord takes 2,000 characters. The other alerts are in `data`. */
const MAX_LINES = 15;

export interface AlertContext {
  readonly now: Date;
  readonly pendingMinutes: number;
  /** Where the receiver is reached, if it is known. */
  readonly publicUrl: string | undefined;
}

/**
 * One body for every receiver: Slack reads `text`, Discord reads `content`, and both ignore fields that they don't know.
 * `type`, `timestamp` and `data` are those of Standard Webhooks. It holds counts, sources and classes of errors only,
 * because a chat is read by more people than the database.
 */
export function alertMessage(alerts: readonly Alert[], { now, pendingMinutes, publicUrl }: AlertContext): object {
  const consoleUrl = publicUrl && `${publicUrl.replace(/\/+$/, '')}/ops`;
  const lines = alerts.slice(0, MAX_LINES).map((alert) => lineOf(alert, pendingMinutes));
  const more = alerts.length > MAX_LINES ? [`… and ${alerts.length - MAX_LINES} more`] : [];
  const text = ['Claimcheck', ...lines, ...more, consoleUrl].filter((line) => line !== undefined).join('\n');
  return {
    type: 'claimcheck.alert',
    timestamp: now.toISOString(),
    text,
    content: text,
    // Discord: whatever a source is called, nobody is mentioned.
    allowed_mentions: { parse: [] },
    data: {
      console: consoleUrl ?? null,
      alerts: alerts.map(({ error, ...alert }) => ({ ...alert, error: error || null })),
    },
  };
}

function lineOf({ condition, state, source, error, events, effects, oldest }: Alert, pendingMinutes: number): string {
  const count = counted(events, effects);
  const isOver = state === 'over';
  switch (condition) {
    case 'parked':
      return isOver
        ? `OK    ${source}: nothing is parked any more with ${error}`
        : `ALERT ${source}: ${count} parked with ${error}`;
    case 'dead_letter':
      return isOver
        ? `OK    ${source}: nothing is parked any more because of the queue`
        : `ALERT ${source}: ${count} parked because the queue gave up (dead letters)`;
    case 'pending':
      return isOver
        ? `OK    ${source}: nothing has been pending for more than ${pendingMinutes} minutes`
        : `ALERT ${source}: ${count} pending for more than ${pendingMinutes} minutes, the oldest since ${minute(oldest)}`;
    case 'silent':
      return isOver
        ? `OK    ${source}: events arrive again`
        : `ALERT ${source}: no event since ${minute(oldest)}, which is unusually long for this source`;
  }
}

function counted(events: number, effects: number): string {
  const counts = [plural(events, 'event'), plural(effects, 'effect')].filter((count) => !count.startsWith('0 '));
  return `${counts.join(' and ')} ${events + effects === 1 ? 'is' : 'are'}`;
}

function plural(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

function minute(time: Date | null): string {
  return time === null ? 'an unknown time' : `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
