import { type Alert, recordSentAlerts, takeAlerts } from '../db/alerts.ts';
import { openDatabase } from '../db/client.ts';
import { MEANING } from '../db/schema.ts';
import { sha256 } from '../shared/bytes.ts';
import { counted, countedBoth } from '../shared/counts.ts';
import { type Log, nameOf } from '../shared/log.ts';
import type { ConsumerBindings } from '../shared/runtime.ts';
import { settingOf } from '../shared/settings.ts';
import { keyBytes } from '../verify/algorithms.ts';

/** The cron has time, but an endpoint that needs longer than this to accept a short text doesn't work. */
const TIMEOUT_MS = 10_000;

/** An event is worked within seconds. A failing one is tried for hours: people may want to know before it is parked. */
const PENDING_MINUTES = 60;

/** Posts alerts that begin or are over to ALERT_WEBHOOK_URL. If that is not set, nothing happens, not even a query. */
export async function sendAlerts(
  env: ConsumerBindings,
  now: Date,
  log: Log,
  reconciled: readonly string[] = [],
): Promise<void> {
  const url = settingOf(env, 'ALERT_WEBHOOK_URL');
  if (url === undefined) return;
  const pendingMinutes = Number(Reflect.get(env, 'ALERT_PENDING_MINUTES')) || PENDING_MINUTES;
  const db = openDatabase(env.DATABASE_URL);
  const alerts = await takeAlerts(db, now, pendingMinutes, reconciled);
  if (alerts.length === 0) return;

  const body = JSON.stringify(messageOf(env, alerts, now, pendingMinutes));
  const headers = await standardHeaders(await idOf(alerts), body, now, settingOf(env, 'ALERT_WEBHOOK_SECRET'));
  const refusal = await post(url, headers, body);
  const outcome = refusal === undefined ? 'sent' : 'not_sent';
  for (const { state, condition, source, failure, events, effects } of alerts) {
    log({ step: 'alert', outcome, reason: refusal, state, condition, source, failure, events, effects });
  }
  // Alerts that were not accepted are found again by the next tick.
  if (refusal === undefined) await recordSentAlerts(db, alerts, now);
}

/** Why the endpoint did not accept it, without its URL: everybody who knows the URL of a chat can post there. */
async function post(url: string, headers: HeadersInit | undefined, body: string): Promise<string | undefined> {
  if (headers === undefined) return 'ALERT_WEBHOOK_SECRET is not base64, with or without whsec_';
  if (!URL.canParse(url)) return 'ALERT_WEBHOOK_URL is not a URL';
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    // A redirect turns a POST into a GET, which would look like a success.
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
    await response.body?.cancel();
    return response.ok ? undefined : `the alert endpoint answered ${response.status}`;
  } catch (error) {
    return `the alert endpoint could not be reached (${error instanceof Error ? nameOf(error) : typeof error})`;
  }
}

/**
 * The headers of a Standard Webhook, signed if there is a secret. `undefined` if the secret is malformed.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
async function standardHeaders(
  id: string,
  body: string,
  now: Date,
  secret: string | undefined,
): Promise<Record<string, string> | undefined> {
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const unsigned = { 'content-type': 'application/json', 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secret === undefined) return unsigned;
  const bytes = keyBytes(secret, { key: 'base64', keyPrefix: 'whsec_' });
  if (bytes === undefined) return undefined;
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const signature = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(`${id}.${timestamp}.${body}`));
  return { ...unsigned, 'webhook-signature': `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}` };
}

/**
 * The same if the same alerts are sent again, because the answer to the first time may have been lost. Counts may have
 * changed since: they don't make another alert.
 */
async function idOf(alerts: readonly Alert[]): Promise<string> {
  const keys = alerts.map(({ state, condition, source, failure, since }) => [state, condition, source, failure, since]);
  return `alert_${await sha256(new TextEncoder().encode(JSON.stringify(keys)))}`;
}

/** Discord refuses more than 2,000 characters, and a few are in the other lines. The other alerts are in `data`. */
const MAX_LENGTH = 1800;

/**
 * One body for every endpoint: Slack reads `text`, Discord reads `content`, and both ignore other fields.
 * `type`, `timestamp` and `data` are those of Standard Webhooks. It holds counts, sources and failures only, because a
 * chat is read by more people than the database.
 */
function messageOf(env: ConsumerBindings, alerts: readonly Alert[], now: Date, pendingMinutes: number): object {
  // The queue's name has that of the project and of its environment: `acme-hooks-staging-events`.
  const name = env.EVENTS_QUEUE.replace(/-events$/, '');
  const opsUrl = settingOf(env, 'OPS_URL');
  const consoleUrl = opsUrl && `${opsUrl.replace(/\/+$/, '')}/ops`;
  const linked = alerts.map((alert) => ({ ...alert, links: consoleUrl ? linksOf(alert, consoleUrl) : [] }));
  const lines = linked.map((alert) => [lineOf(alert, pendingMinutes, now), ...alert.links].join(' '));
  while (lines.join('\n').length > MAX_LENGTH) lines.pop();
  const more = lines.length < alerts.length ? [`… and ${alerts.length - lines.length} more`] : [];
  const text = [name, ...lines, ...more, consoleUrl].filter((line) => line !== undefined).join('\n');
  return {
    type: 'claimcheck.alert',
    timestamp: now.toISOString(),
    text,
    content: text,
    // Discord: whatever a source is called, nobody is mentioned.
    allowed_mentions: { parse: [] },
    data: { console: consoleUrl ?? null, alerts: linked },
  };
}

/** The console's lists of what an alert counts: of its events, and of the events with its effects. */
function linksOf({ state, condition, source, failure, events, effects }: Alert, consoleUrl: string): string[] {
  if (state === 'over') return [];
  const link = (fields: Record<string, string>) =>
    `${consoleUrl}/events?${new URLSearchParams({ source, ...fields, ...(failure && { failure }) })}`;
  if (condition === 'silent' || condition === 'missing') return [link({})];
  if (condition === 'unconfirmed' || condition === 'not_asked' || condition === 'paused') return [consoleUrl];
  return [
    ...(events > 0 ? [link({ status: condition })] : []),
    ...(effects > 0 ? [link({ effect_status: condition })] : []),
  ];
}

function lineOf(alert: Alert, pendingMinutes: number, now: Date): string {
  const { condition, state, source, failure, events, effects, waiting, oldest, reason, nextAt } = alert;
  const behind = waiting > 0 ? `. ${counted(waiting, 'event')} ${waiting === 1 ? 'waits' : 'wait'} behind` : '';
  const count = `${countedBoth({ events, effects })} ${events + effects === 1 ? 'is' : 'are'}`;
  const isOver = state === 'over';
  switch (condition) {
    case 'parked':
      return isOver
        ? `OK    ${source}: nothing is parked any more because of ${failure}`
        : `ALERT ${source}: ${count} parked: ${failure === null ? 'unknown' : `${failure} (${MEANING[failure]})`}${behind}`;
    case 'pending':
      return isOver
        ? `OK    ${source}: nothing has been pending for more than ${pendingMinutes} minutes`
        : `ALERT ${source}: ${count} pending for more than ${pendingMinutes} minutes, the oldest since ${minute(oldest)}`;
    case 'silent':
      return isOver
        ? `OK    ${source}: events arrive again`
        : `ALERT ${source}: no event since ${minute(oldest)}, which is unusually long for this source`;
    case 'missing':
      return isOver
        ? `OK    ${source}: no further event has been missing for a day`
        : `ALERT ${source}: ${counted(events, 'event')} never arrived, the oldest sent ${minute(oldest)}: found by asking the provider`;
    case 'unconfirmed':
      return isOver
        ? `OK    ${source}: the provider is asked again what it has sent`
        : `ALERT ${source}: of what the provider's API lists, nothing is known here. Is it the key of another account? ` +
            `If it is right: npm run ops -- reconcile ${source} --accept`;
    case 'not_asked':
      return isOver
        ? `OK    ${source}: the provider is asked again what it has sent`
        : `ALERT ${source}: the provider could not be asked since ${minute(oldest)} what it has sent. ` +
            `npm run ops -- reconcile ${source} says why`;
    case 'paused': {
      const next = nextAt && `; next try in ${Math.max(0, Math.round((nextAt.getTime() - now.getTime()) / 1000))} s`;
      return isOver
        ? `OK    ${source} is not paused any more`
        : `ALERT ${source} is paused since ${minute(oldest)}: ${reason}; ${counted(effects, 'effect')} ${effects === 1 ? 'waits' : 'wait'}${next ?? ''}`;
    }
  }
}

function minute(time: Date | null): string {
  return time === null ? 'an unknown time' : `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
