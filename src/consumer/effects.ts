import { type Database, openDatabase } from '../db/client.ts';
import { type LoadedEffect, loadEffects } from '../db/load-effects.ts';
import { type SettledEffect, settleEffects } from '../db/settle-effects.ts';
import { sha256 } from '../encoding/bytes.ts';
import { errorFromResponse, PermanentError } from '../kit/index.ts';
import { type EffectTicket, isEffectTicket, keyOf, TICKET_GRACE_MS } from '../queue/tickets.ts';
import { judge } from './judge.ts';
import type { ConsumerParts } from './parts.ts';
import { inPortions } from './portions.ts';
import { type Result, settle } from './settle.ts';
import { timeLimit } from './time-limit.ts';

/** Sends the effects behind a batch of tickets, each at least once and always with the same key. */
export async function workEffects(batch: MessageBatch<unknown>, env: ConsumerEnv, parts: ConsumerParts): Promise<void> {
  await inPortions(batch, parts, async (messages) => {
    const tickets = new Map<string, EffectTicket>();
    for (const { body } of messages) if (isEffectTicket(body)) tickets.set(keyOf(body), body);
    const results = await sendAll(openDatabase(env.DATABASE_URL), [...tickets.values()], env, parts);
    for (const message of messages) {
      const { body, attempts: deliveries } = message;
      const readable = isEffectTicket(body);
      if (!readable) parts.log({ at: 'consumer', outcome: 'unreadable', deliveries });
      const result = readable ? (results.get(keyOf(body)) ?? UNKNOWN) : UNREADABLE;
      settle(message, [result], parts.random());
    }
  });
}

const UNKNOWN: Result = { outcome: 'unknown' };
const UNREADABLE: Result = { outcome: 'unreadable' };

async function sendAll(
  db: Database,
  tickets: readonly EffectTicket[],
  env: ConsumerEnv,
  parts: ConsumerParts,
): Promise<Map<string, Result>> {
  const loaded = await loadEffects(db, tickets);
  const pending = loaded.filter(({ status }) => status === 'pending');
  const results = new Map<string, Result>(loaded.map((effect) => [keyOf(effect), { outcome: 'already' }]));
  const settled = await Promise.all(
    pending.map(async (effect): Promise<SettledEffect[]> => {
      const started = parts.now();
      const { source, id, name } = effect;
      const key = await idempotencyKey(effect);
      const result = await sendOne(effect, key, env, parts);
      results.set(keyOf(effect), result);
      const now = parts.now();
      const ms = now.getTime() - started.getTime();
      const reason = 'reason' in result ? result.reason : undefined;
      parts.log({ at: 'effect', source, event_id: id, name, key, outcome: result.outcome, reason, ms });
      switch (result.outcome) {
        case 'sent':
          return [{ source, id, name, status: 'sent', error: null, dueAt: now }];
        case 'parks':
          return [{ source, id, name, status: 'parked', error: result.error, dueAt: now }];
        case 'retries': {
          const dueAt = new Date(now.getTime() + result.seconds * 1000 + TICKET_GRACE_MS);
          return [{ source, id, name, status: 'pending', error: result.error, dueAt }];
        }
        default:
          return [];
      }
    }),
  );
  await settleEffects(db, settled.flat(), parts.now());
  return results;
}

async function sendOne(effect: LoadedEffect, key: string, env: ConsumerEnv, parts: ConsumerParts): Promise<Result> {
  try {
    const kind = Object.hasOwn(parts.effects, effect.kind) ? parts.effects[effect.kind] : undefined;
    if (kind === undefined) throw new PermanentError(`there is no effect ${effect.kind} in src/app/effects`);
    const signal = AbortSignal.timeout(parts.effectMs);
    const tools = { key, env, signal, fetch: (...request: Parameters<typeof fetch>) => fetch(...request) };
    // What was enqueued as this kind has this kind's payload: `effect()` doesn't compile with any other.
    const sending = kind.send(JSON.parse(effect.payload) as never, tools);
    const response = await timeLimit(parts.effectMs, 'the effect', sending);
    // An effect may have read the answer itself.
    if (!response.bodyUsed) await response.body?.cancel();
    const failure = errorFromResponse(response, parts.now());
    if (failure) throw failure;
    return { outcome: 'sent' };
  } catch (error) {
    return judge(error, effect.attempts, parts.random());
  }
}

/** Stable over every try, and safe in a header whatever the event's id holds. */
function idempotencyKey(effect: EffectTicket): Promise<string> {
  const text = keyOf({ source: effect.source, id: effect.id, name: effect.name });
  return sha256(Uint8Array.from(new TextEncoder().encode(text)));
}
