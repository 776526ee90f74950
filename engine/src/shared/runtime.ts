// What the engine needs of the Workers runtime and of each Worker's wrangler file. These types are our own, because an app has
// the runtime's types in a version of its choice, and two versions of them clash.

/** The longest delay of a message that a queue takes. */
export const MAX_DELAY_SECONDS = 86_400;

export interface Queue {
  send(message: unknown, options?: { readonly contentType?: 'bytes' }): Promise<unknown>;
  sendBatch(messages: Iterable<{ readonly body: unknown; readonly delaySeconds?: number }>): Promise<unknown>;
  metrics(): Promise<{ readonly backlogCount: number; readonly backlogBytes: number }>;
}

export interface Message {
  readonly body: unknown;
  /** How often this ticket was delivered. Attempts of an event are counted in Postgres. */
  readonly attempts: number;
  readonly timestamp: Date;
  ack(): void;
  retry(options?: { readonly delaySeconds?: number }): void;
}

export interface MessageBatch {
  readonly queue: string;
  readonly messages: readonly Message[];
  retryAll(options?: { readonly delaySeconds?: number }): void;
}

/** `ctx.access`: the runtime fills it where Cloudflare Access protects the Worker. */
export interface Access {
  readonly aud: string;
  getIdentity(): Promise<{ readonly email?: unknown; readonly common_name?: unknown } | undefined>;
}

export interface ReceiverBindings {
  readonly DATABASE_URL: string;
  readonly EVENTS: Queue;
}

export interface ConsumerBindings {
  readonly DATABASE_URL: string;
  readonly EVENTS: Queue;
  readonly EFFECTS: Queue;
  readonly EVENTS_QUEUE: string;
  readonly EVENTS_DEAD_QUEUE: string;
  readonly EFFECTS_QUEUE: string;
  readonly EFFECTS_DEAD_QUEUE: string;
  readonly DEDUPE_DAYS: number;
  readonly BODY_DAYS: number;
}

export interface OpsBindings {
  readonly DATABASE_URL: string;
  readonly EVENTS: Queue;
  readonly EFFECTS: Queue;
}
