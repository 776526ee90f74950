import type { StandardSchemaV1 } from '@standard-schema/spec';
import { rememberDefinition } from './errors.ts';
import type { Tools } from './handler.ts';

/**
 * One call to the outside that a handler asks for. It is sent at least once, always with the same idempotency key.
 *
 * @example
 * const changes: Effect[] = [effect('receipt', { to: 'jane@example.com', cents: 4200 })];
 */
export class Effect {
  readonly kind: string;
  readonly payload: unknown;
  /** Tells two effects of one event apart. */
  readonly name: string;

  constructor(kind: string, payload: unknown, name: string) {
    this.kind = kind;
    this.payload = payload;
    this.name = name;
  }
}

/**
 * What `send` gets beside the payload.
 *
 * @example
 * const send = (payload: object, { key, env, fetch, signal }: EffectTools) =>
 *   fetch(`${env.MAIL_URL}/receipts`, {
 *     method: 'POST',
 *     headers: { 'idempotency-key': key },
 *     body: JSON.stringify(payload),
 *     signal,
 *   });
 */
export interface EffectTools extends Pick<Tools, 'fetch' | 'env'> {
  /** The same at every attempt. Send it along, because the other side needs it to recognise a repeated call. */
  readonly key: string;
  /** Aborts the call when its time is up. */
  readonly signal: AbortSignal;
}

/**
 * How effects of one kind are sent.
 *
 * @example
 * const ping: EffectKind = { send: (_payload, { fetch, signal }) => fetch('https://api.example.com/ping', { signal }) };
 */
export interface EffectKind<Payload = never> {
  /**
   * Any Standard Schema. It checks the stored payload before every call, because the payload may be older than the code.
   * One that doesn't match parks the effect, with the paths that failed.
   */
  readonly schema?: StandardSchemaV1 | undefined;
  /** The status of the response decides what happens next: done, tried again, or parked (`errorFromResponse` in api.ts). */
  readonly send: (payload: Payload, tools: EffectTools) => Promise<Response>;
}

/**
 * With a schema, `effect()` takes what the schema takes, and `send` gets what it returns.
 *
 * @example
 * export const receipt = defineEffect({
 *   schema: v.object({ to: v.string(), cents: v.number() }),
 *   send: ({ to, cents }, { key, env, fetch, signal }) =>
 *     fetch(`${env.MAIL_URL}/receipts`, {
 *       method: 'POST',
 *       headers: { 'idempotency-key': key },
 *       body: JSON.stringify({ to, cents }),
 *       signal,
 *     }),
 * });
 */
export function defineEffect<Schema extends StandardSchemaV1>(kind: {
  readonly schema: Schema;
  readonly send: EffectKind<StandardSchemaV1.InferOutput<Schema>>['send'];
}): typeof kind;
/**
 * Without a schema, you name the type of the payload.
 *
 * @example
 * export const receipt = defineEffect<{ readonly to: string }>({
 *   send: (payload, { key, env, fetch, signal }) =>
 *     fetch(`${env.MAIL_URL}/receipts`, {
 *       method: 'POST',
 *       headers: { 'idempotency-key': key },
 *       body: JSON.stringify(payload),
 *       signal,
 *     }),
 * });
 */
export function defineEffect<Payload>(kind: EffectKind<Payload> & { readonly schema?: never }): EffectKind<Payload>;
export function defineEffect<Kind extends object>(kind: Kind): Kind {
  return rememberDefinition(kind, defineEffect);
}

type PayloadOf<Kind> = Kind extends { readonly schema: infer Schema extends StandardSchemaV1 }
  ? StandardSchemaV1.InferInput<Schema>
  : Kind extends EffectKind<infer Payload>
    ? Payload
    : never;

/**
 * The payload of an effect is typed by its kind. A kind that isn't defined is a compile error.
 *
 * @example
 * export const { effects, effect } = defineEffects({ receipt });
 * // In a handler:
 * effect('receipt', { to: 'jane@example.com', cents: 4200 });
 */
export function defineEffects<Kinds extends Record<string, EffectKind>>(effects: Kinds) {
  return {
    effects: effects as Readonly<Record<string, EffectKind>>,
    /** Give it a name only if one event asks for the same kind twice. */
    effect: <Kind extends keyof Kinds & string>(kind: Kind, payload: PayloadOf<Kinds[Kind]>, name: string = kind) =>
      new Effect(kind, payload, name),
  };
}
