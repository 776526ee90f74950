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
  readonly options: Omit<EffectOptions, 'name'>;

  constructor(kind: string, payload: unknown, name: string, options: Omit<EffectOptions, 'name'> = {}) {
    this.kind = kind;
    this.payload = payload;
    this.name = name;
    this.options = options;
  }
}

/**
 * An effect of this kind and source is not sent, if it isn't sent yet.
 *
 * @example
 * const changes: Cancel[] = [cancel('reminder', 'trial_42')];
 */
export class Cancel {
  readonly kind: string;
  readonly key: string;

  constructor(kind: string, key: string) {
    this.kind = kind;
    this.key = key;
  }
}

/**
 * When an effect is sent, and what it is called. `after` and `at` exclude each other.
 *
 * @example
 * const options: EffectOptions = { after: 7 * 86_400, key: 'trial_42' };
 */
export type EffectOptions = {
  /** Tells two effects of one event apart. Default: the kind. */
  readonly name?: string;
  /**
   * By this key `cancel()` takes the effect back. No two effects of one kind and source may have the same, so it also says which
   * time it is: the id of the trial, and not of the customer. Up to 255 characters. Each tenant has keys of its own.
   */
  readonly key?: string;
} & (
  | {
      /** It is sent so many seconds after its handler has run: up to 2,592,000, which are 30 days. */
      readonly after?: number;
      readonly at?: never;
    }
  | {
      /** It is sent at this time: up to 30 days ahead. A time that has passed means at once. */
      readonly at?: Date;
      readonly after?: never;
    }
);

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
  /** As the handler's `event.tenant`. */
  readonly tenant?: string | undefined;
  /** Aborts the call when its time is up. */
  readonly signal: AbortSignal;
}

/**
 * At most so many calls, over all isolates: begun in a second, or at the same time.
 *
 * @example
 * const limit: EffectLimit = { perSecond: 2 };
 */
export type EffectLimit =
  | { readonly perSecond: number; readonly atOnce?: never }
  | { readonly atOnce: number; readonly perSecond?: never };

/**
 * How effects of one kind wait, all of it in seconds.
 *
 * @example
 * const waits: EffectWaits = { limit: { atOnce: 1 }, pauseFor: 3 * 86_400, expiresAfter: 7 * 86_400 };
 */
export interface EffectWaits {
  readonly limit?: EffectLimit | undefined;
  /**
   * While the other side is down, its failures don't count as attempts for so many seconds. Default: 86,400, which is a day. With 0,
   * each counts.
   */
  readonly pauseFor?: number | undefined;
  /** An effect that could not be sent within this many seconds is cancelled. Default: never. */
  readonly expiresAfter?: number | undefined;
}

/**
 * How effects of one kind are sent.
 *
 * @example
 * const ping: EffectKind = { send: (_payload, { fetch, signal }) => fetch('https://api.example.com/ping', { signal }) };
 */
export interface EffectKind<Payload = never> extends EffectWaits {
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
export function defineEffect<Schema extends StandardSchemaV1>(
  kind: EffectWaits & {
    readonly schema: Schema;
    readonly send: EffectKind<StandardSchemaV1.InferOutput<Schema>>['send'];
  },
): typeof kind;
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
export function defineEffect<Kind extends EffectWaits>(kind: Kind): Kind {
  const { limit: { perSecond = 1, atOnce = 1 } = {}, pauseFor = 0, expiresAfter = 1 } = kind;
  const isAboveZero = [perSecond, atOnce, expiresAfter].every((number) => Number.isFinite(number) && number > 0);
  if (!isAboveZero || !Number.isInteger(atOnce) || !(Number.isFinite(pauseFor) && pauseFor >= 0)) {
    throw new TypeError(
      'defineEffect: perSecond and expiresAfter are numbers above 0, atOnce is a whole number from 1 up, pauseFor a number from 0 up',
    );
  }
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
 * export const { effects, effect, cancel } = defineEffects({ receipt, reminder });
 * // In a handler:
 * effect('receipt', { to: 'jane@example.com', cents: 4200 });
 * // In three days, unless another event cancels it:
 * effect('reminder', { to: 'jane@example.com' }, { after: 3 * 86_400, key: 'trial_42' });
 * cancel('reminder', 'trial_42');
 */
export function defineEffects<Kinds extends Record<string, EffectKind>>(effects: Kinds) {
  return {
    effects: effects as Readonly<Record<string, EffectKind>>,
    /** Give it a name only if one event asks for the same kind twice. */
    effect: <Kind extends keyof Kinds & string>(
      kind: Kind,
      payload: PayloadOf<Kinds[Kind]>,
      options: string | EffectOptions = {},
    ) => {
      const { name = kind, ...rest } = typeof options === 'string' ? { name: options } : options;
      return new Effect(kind, payload, name, rest);
    },
    /**
     * Takes back the effect that was given this key by an event of the same source, if it isn't sent yet. One that is added only
     * later isn't sent either, because events come in any order.
     */
    cancel: (kind: keyof Kinds & string, key: string) => new Cancel(kind, key),
  };
}
