/** What identifies an event: the primary key of `webhook_events`. */
export interface EventKey {
  readonly source: string;
  readonly eventId: string;
}

/** What identifies an effect: the primary key of `webhook_effects`. */
export interface EffectKey extends EventKey {
  /** Tells two effects of one event apart. */
  readonly name: string;
}

/** A key as one string, for maps. JSON, because any separator of our own could occur in an id. */
export function keyText({ source, eventId, name }: EventKey & { readonly name?: string }): string {
  return JSON.stringify([source, eventId, name]);
}

/** How long a ticket may take before the sweep sends another: longer than a usual backlog, shorter than the sweep's interval. */
export const TICKET_GRACE_MS = 10 * 60_000;
