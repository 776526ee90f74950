import { type Alert, recordSent, takeAlerts } from '../db/alerts.ts';
import { openDatabase } from '../db/client.ts';
import { sha256 } from '../encoding/bytes.ts';
import type { Log } from '../log.ts';
import { alertMessage } from './alert-message.ts';
import { standardHeaders } from './standard-webhook.ts';

/** The cron has time, but an endpoint that needs longer than this to accept a short text doesn't work. */
const TIMEOUT_MS = 10_000;

/** An event is worked within seconds. One that fails is tried for hours, and a person may want to know before it is parked. */
const PENDING_MINUTES = 60;

/** Posts what has begun and what is over to ALERT_WEBHOOK_URL. Without this variable nothing happens, not even a query. */
export async function alert(env: ReceiverEnv, now: Date, log: Log): Promise<void> {
  const url = textOf(env, 'ALERT_WEBHOOK_URL');
  if (url === undefined) return;
  const pendingMinutes = Number(Reflect.get(env, 'ALERT_PENDING_MINUTES')) || PENDING_MINUTES;
  const db = openDatabase(env.DATABASE_URL);
  const alerts = await takeAlerts(db, now, pendingMinutes);
  if (alerts.length === 0) return;

  const body = JSON.stringify(alertMessage(alerts, { now, pendingMinutes, publicUrl: textOf(env, 'PUBLIC_URL') }));
  const counts = {
    begun: alerts.filter(({ state }) => state === 'begun').length,
    over: alerts.filter(({ state }) => state === 'over').length,
  };
  const refusal = await post(url, await idOf(alerts), body, now, textOf(env, 'ALERT_WEBHOOK_SECRET'));
  log({ step: 'alert', outcome: refusal === undefined ? 'sent' : 'not_sent', reason: refusal, ...counts });
  // What was not accepted is found again by the next tick.
  if (refusal === undefined) await recordSent(db, alerts, now);
}

/** Why the endpoint did not accept it, without its URL: everybody who knows the URL of a chat can post there. */
async function post(
  url: string,
  id: string,
  body: string,
  now: Date,
  secret: string | undefined,
): Promise<string | undefined> {
  const headers = await standardHeaders(id, body, now, secret);
  if (headers === undefined) return 'ALERT_WEBHOOK_SECRET is not base64, with or without whsec_';
  if (!URL.canParse(url)) return 'ALERT_WEBHOOK_URL is not a URL';
  try {
    // A redirect turns a POST into a GET, which would look like a success.
    const init = {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    } as const;
    const response = await fetch(url, init);
    await response.body?.cancel();
    return response.ok ? undefined : `the alert endpoint answered ${response.status}`;
  } catch (error) {
    return `the alert endpoint could not be reached (${error instanceof Error ? error.name : typeof error})`;
  }
}

/**
 * The same if the same alerts are sent again, because the answer to the first time may have been lost. Counts may have
 * changed since: they don't make another alert.
 */
async function idOf(alerts: readonly Alert[]): Promise<string> {
  const keys = alerts.map(({ state, condition, source, error, since }) => [state, condition, source, error, since]);
  return `alert_${await sha256(new TextEncoder().encode(JSON.stringify(keys)))}`;
}

/** Optional settings have no type, because the generated types hold only what the wrangler file names. */
function textOf(env: ReceiverEnv, name: string): string | undefined {
  const value: unknown = Reflect.get(env, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
