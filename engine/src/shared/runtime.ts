// The parts of the Workers runtime and of each Worker's bindings that the engine uses. We declare these types ourselves
// because an app chooses its own version of the runtime's types, and two versions conflict.

/** The longest delay that a queue accepts for a message. */
export const MAX_DELAY_SECONDS = 86_400;

export interface Queue {
  send(message: unknown, options?: { readonly contentType?: 'bytes' }): Promise<unknown>;
  sendBatch(messages: Iterable<{ readonly body: unknown; readonly delaySeconds?: number }>): Promise<unknown>;
  metrics(): Promise<{ readonly backlogCount: number; readonly backlogBytes: number }>;
}

export interface Message {
  readonly body: unknown;
  /** How often this ticket was delivered. An event's attempts are counted in Postgres. */
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

/** `ctx.access`, which the runtime fills if Cloudflare Access protects the Worker. */
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
