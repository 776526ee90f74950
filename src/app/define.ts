// The vocabulary of your code: sources, handlers, effects, and the two errors a handler may throw.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Database, Statement } from '../db/client.ts';
import type { Provider } from '../providers/types.ts';

/** One configured sender. Its secret is `<SOURCE>_WEBHOOK_SECRET`, the source's name in upper snake case. */
export interface Source {
  readonly provider: Provider;
  /** The types you subscribed to. A handler for any other doesn't compile; an event of any other is ignored. */
  readonly types: readonly string[];
  /** Largest accepted body: what the provider states, or 1 MiB, unless said otherwise. */
  readonly maxBytes?: number;
  /**
   * The address as the provider knows it, where a proxy or a custom domain stands before the Worker. Square, Twilio
   * and HubSpot sign it.
   */
  readonly url?: string;
  /**
   * While true, the next secret that the provider hands over (Notion, Asana) is answered and shown in the log, sealed
   * with the secret that is set until then: see docs/providers.md. Anybody can hand one over, so take it out afterwards.
   */
  readonly awaitsSecret?: true;
  /** `content`: the SHA-256 of the body is the event's id, for senders whose own ids are inconsistent. */
  readonly dedupe?: 'id' | 'content';
  /**
   * Two events of this source may carry the same body, so no fingerprint guards its unsigned ids: GitHub says the same
   * of a member that is added, removed and added again. Who has captured a delivery can then replay it under another id.
   */
  readonly bodiesRepeat?: true;
}

export function defineSources<const Sources extends Record<string, Source>>(sources: Sources): Sources {
  return sources;
}

export interface Event<Data = unknown> {
  readonly source: string;
  readonly id: string;
  readonly type: string | null;
  /** When it happened, by the sender's clock; when we received it, where the sender doesn't say. */
  readonly occurredAt: Date;
  readonly receivedAt: Date;
  /** The payload, as the handler's schema lets it through. */
  readonly data: Data;
  /** The body as it came, to the byte. */
  readonly raw: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Tools {
  /** For building changes, and for reading. */
  readonly db: Database;
  readonly fetch: typeof fetch;
  readonly now: Date;
  /** The consumer Worker's variables and secrets. */
  readonly env: ConsumerEnv;
}

/** A statement to commit together with the event's completion, or an effect to send after it. */
export type Change = Statement | Effect;

export interface Handler {
  /** Any Standard Schema. A payload that doesn't match it parks its event with the path that failed. */
  readonly schema?: StandardSchemaV1 | undefined;
  /** Tries before the event is parked, unless it asks to be parked sooner. */
  readonly attempts?: number;
  readonly handle: (event: Event<never>, tools: Tools) => Change[] | Promise<Change[]>;
}

/** Ties the type of `event.data` to the schema. Without one it is `unknown`. */
export function defineHandler<Schema extends StandardSchemaV1 = StandardSchemaV1<unknown>>(
  handler: Omit<Handler, 'schema' | 'handle'> & {
    schema?: Schema;
    handle: (event: Event<StandardSchemaV1.InferOutput<Schema>>, tools: Tools) => Change[] | Promise<Change[]>;
  },
): Handler {
  return handler;
}

export type Handlers = Readonly<Record<string, Readonly<Record<string, Handler | undefined>> | undefined>>;

export function defineHandlers<Sources extends Record<string, Source>>(
  _sources: Sources,
  handlers: { readonly [Name in keyof Sources]?: { readonly [Type in Sources[Name]['types'][number]]?: Handler } },
): Handlers {
  return handlers;
}

/** An effect asked for by a handler: one call to the outside, sent at least once, always with the same idempotency key. */
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

export interface EffectTools extends Pick<Tools, 'fetch' | 'env'> {
  /** The same at every try. Pass it on: without it the other side can't tell a repeat from a new call. */
  readonly key: string;
  /** Ends the call when its time is up. */
  readonly signal: AbortSignal;
}

export interface EffectKind<Payload = never> {
  /** What the outside answered decides whether it is sent again: see `failureOf` in outside.ts. */
  readonly send: (payload: Payload, tools: EffectTools) => Promise<Response>;
}

export function defineEffect<Payload>(kind: EffectKind<Payload>): EffectKind<Payload> {
  return kind;
}

type PayloadOf<Kind> = Kind extends EffectKind<infer Payload> ? Payload : never;

export function defineEffects<Kinds extends Record<string, EffectKind>>(effects: Kinds) {
  return {
    effects: effects as Readonly<Record<string, EffectKind>>,
    /** A name of its own is needed only where one event asks for the same kind twice. */
    effect: <Kind extends keyof Kinds & string>(kind: Kind, payload: PayloadOf<Kinds[Kind]>, name: string = kind) =>
      new Effect(kind, payload, name),
  };
}

/** Retrying can't help: the event is parked at once. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
}

/** Try again, but not before this many seconds have passed. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly seconds: number;

  constructor(seconds: number, message = `asked to be retried in ${seconds} s`) {
    super(message);
    this.seconds = seconds;
  }
}
