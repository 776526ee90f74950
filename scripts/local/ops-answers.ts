// What the receiver's API under /ops/api answers. Fields that aren't named here may be added: they are left as they are.
import * as v from 'valibot';

const time = v.string();
const text = v.nullable(v.string());
const count = v.number();

export const Status = v.looseObject({
  sources: v.array(
    v.looseObject({
      source: v.string(),
      last_accepted_at: v.nullable(time),
      accepted_per_hour: v.array(count),
      pending: count,
      parked: count,
      oldest_pending_at: v.nullable(time),
      seconds_to_done: v.looseObject({ p50: v.nullable(v.number()), p95: v.nullable(v.number()) }),
    }),
  ),
  effects: v.looseObject({
    pending: count,
    parked: count,
    sent_last_day: count,
    oldest_pending_at: v.nullable(time),
  }),
  totals: v.looseObject({ pending: count, parked: count }),
});
export type Status = v.InferOutput<typeof Status>;

const event = {
  source: v.string(),
  event_id: v.string(),
  type: text,
  status: v.string(),
  attempts: count,
  last_error: text,
  received_at: time,
  finished_at: v.nullable(time),
  due_at: time,
};

export const EventPage = v.looseObject({ events: v.array(v.looseObject(event)), next_cursor: text });
export type ListedEvent = v.InferOutput<typeof EventPage>['events'][number];

export const EventDetails = v.looseObject({
  ...event,
  summary: text,
  body: text,
  headers: v.nullable(v.record(v.string(), v.string())),
  effects: v.array(
    v.looseObject({
      name: v.string(),
      kind: v.string(),
      status: v.string(),
      attempts: count,
      last_error: text,
      idempotency_key: v.string(),
      due_at: time,
      sent_at: v.nullable(time),
    }),
  ),
  actions: v.array(v.looseObject({ at: time, who: v.string(), action: v.string(), reason: text })),
});
export type EventDetails = v.InferOutput<typeof EventDetails>;

export const Matching = v.looseObject({ matching: count });
export const Counts = v.looseObject({ events: count, effects: count });

export const Activity = v.looseObject({
  lines: v.array(
    v.looseObject({ at: time, source: v.string(), event_id: v.string(), type: text, what: v.string(), error: text }),
  ),
  cursor: v.string(),
});
export type ActivityLine = v.InferOutput<typeof Activity>['lines'][number];

/** Problem details, RFC 9457. */
export const Problem = v.looseObject({ title: v.string(), detail: v.optional(v.string()) });
