// The description of the API. A test compares it with what the API really answers.
import { webhookEffects, webhookEvents } from '../db/schema.ts';
import { LOOK_BACK_DAYS } from '../db/status.ts';
import { ACTIONS } from './act.ts';
import { EFFECT_STATUSES, MAX_PAGE, PAGE } from './input.ts';
import { MAX_REASON_LENGTH } from './order.ts';

const text = { type: 'string' } as const;
const textOrNull = { type: ['string', 'null'] } as const;
const time = { type: 'string', format: 'date-time' } as const;
const timeOrNull = { type: ['string', 'null'], format: 'date-time' } as const;
const count = { type: 'integer', minimum: 0 } as const;
const effectStatus = { type: 'string', enum: EFFECT_STATUSES } as const;
const eventStatus = { type: 'string', enum: webhookEvents.status.enumValues } as const;

/** An object with all of these fields, and no others. */
function object<Properties extends Record<string, unknown>>(properties: Properties, description?: string) {
  const required = Object.keys(properties);
  return { type: 'object', ...(description ? { description } : {}), properties, required, additionalProperties: false };
}

/** An object whose fields may be missing. */
function optional<Properties extends Record<string, unknown>>(properties: Properties, required: string[] = []) {
  return { type: 'object', properties, required, additionalProperties: false };
}

const list = (items: unknown) => ({ type: 'array', items });
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

const listed = {
  source: text,
  event_id: text,
  type: textOrNull,
  status: eventStatus,
  attempts: count,
  last_error: textOrNull,
  received_at: time,
  finished_at: timeOrNull,
  due_at: time,
};

const schemas = {
  Problem: {
    type: 'object',
    description: 'Problem details (RFC 9457)',
    properties: { type: text, title: text, status: { type: 'integer' }, detail: text },
    required: ['type', 'title', 'status'],
    additionalProperties: false,
  },
  Status: object({
    sources: list(
      object({
        source: text,
        last_accepted_at: { ...timeOrNull, description: `Null if it was not in the last ${LOOK_BACK_DAYS} days` },
        accepted_per_hour: {
          ...list(count),
          minItems: 24,
          maxItems: 24,
          description: 'Events received in each of the last 24 hours, the last hour at the end',
        },
        pending: count,
        parked: count,
        oldest_pending_at: timeOrNull,
        seconds_to_done: object(
          { p50: { type: ['number', 'null'] }, p95: { type: ['number', 'null'] } },
          'From received to done, of the events received in the last day',
        ),
      }),
    ),
    effects: object({ pending: count, parked: count, sent_last_day: count, oldest_pending_at: timeOrNull }),
    effect_kinds: list(
      object({
        kind: text,
        last_sent_at: timeOrNull,
        sent_per_hour: list(count),
        pending: count,
        parked: count,
        oldest_pending_at: timeOrNull,
        seconds_to_sent: object(
          { p50: { type: ['number', 'null'] }, p95: { type: ['number', 'null'] } },
          'From the completion of the event to the sending, of the effects sent in the last day',
        ),
      }),
    ),
    totals: object({ pending: count, parked: count, oldest_pending_at: timeOrNull }),
  }),
  Events: object({
    events: list(object(listed)),
    next_cursor: { ...textOrNull, description: 'Null at the end of the list' },
  }),
  Event: object({
    ...listed,
    occurred_at: timeOrNull,
    not_before: timeOrNull,
    summary: textOrNull,
    completions: count,
    fingerprint: textOrNull,
    replay_number: count,
    actions: list(object({ at: time, who: text, action: { type: 'string', enum: ACTIONS }, reason: textOrNull })),
    body: { ...textOrNull, description: 'As it was received. Null if it has been pruned' },
    headers: { type: ['object', 'null'], additionalProperties: text },
    effects: list(
      object({
        name: text,
        kind: text,
        status: { type: 'string', enum: webhookEffects.status.enumValues },
        attempts: count,
        last_error: textOrNull,
        due_at: time,
        sent_at: timeOrNull,
        idempotency_key: text,
      }),
    ),
  }),
  Activity: object({
    lines: list(
      object({
        at: time,
        source: text,
        event_id: text,
        type: textOrNull,
        what: { type: 'string', enum: ['received', 'done', 'ignored', 'parked', 'retry'] },
        error: textOrNull,
      }),
    ),
    cursor: text,
  }),
  Filter: optional({
    source: text,
    status: eventStatus,
    type: text,
    effect_status: effectStatus,
    q: text,
    since: text,
    until: text,
  }),
  Counts: object({ events: count, effects: count }, 'How many events and effects were changed'),
  Matching: object({ matching: count }, 'With dry_run=1: how many events would be changed'),
};

const json = (name: string, description: string) => ({
  description,
  content: { 'application/json': { schema: ref(name) } },
});
const problem = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: ref('Problem') } },
});

/** Every operation may answer these. */
const refusals = {
  401: problem('The bearer token is missing or wrong'),
  429: problem('Too many requests from this address'),
  503: problem('Postgres can not be reached. Deliveries are accepted all the same'),
};

const query = (name: string, schema: unknown, description: string) => ({ name, in: 'query', schema, description });
const path = (name: string, schema: unknown = text) => ({ name, in: 'path', required: true, schema });
const reason = { type: 'string', maxLength: MAX_REASON_LENGTH, description: 'Needed to discard' };
const effects = { type: 'boolean', description: 'For a rerun: send the effects again as well' };
const body = (schema: unknown, required: boolean) => ({ required, content: { 'application/json': { schema } } });
const action = path('action', { type: 'string', enum: ACTIONS });

export const openApi = {
  openapi: '3.1.0',
  info: { title: 'Claimcheck operator API', version: '1' },
  servers: [{ url: '/ops/api' }],
  security: [{ bearer: [] }],
  paths: {
    '/status': {
      get: {
        operationId: 'status',
        summary: 'What came in, what is stuck, how long events take',
        responses: { 200: json('Status', 'Per source, and in all'), ...refusals },
      },
    },
    '/events': {
      get: {
        operationId: 'list',
        summary: 'Events, newest first',
        parameters: [
          query('source', text, 'Only of this source'),
          query('status', eventStatus, 'Only with this status'),
          query('type', text, 'Only of this type'),
          query('effect_status', effectStatus, 'Only with an effect of this status'),
          query('q', text, 'Only with this event id'),
          query('since', text, 'Received at or after this time (ISO 8601; without a zone it is UTC)'),
          query('until', text, 'Received before this time'),
          query('cursor', text, 'next_cursor of the page before'),
          query('limit', { type: 'integer', minimum: 1, maximum: MAX_PAGE, default: PAGE }, 'Events on a page'),
        ],
        responses: { 200: json('Events', 'A page'), 400: problem('A parameter is not valid'), ...refusals },
      },
    },
    '/events/{source}/{event_id}': {
      get: {
        operationId: 'show',
        summary: 'One event with its body, its effects and what operators did to it',
        parameters: [path('source'), path('event_id')],
        responses: { 200: json('Event', 'The event'), 404: problem('There is no such event'), ...refusals },
      },
    },
    '/events/{source}/{event_id}/{action}': {
      post: {
        operationId: 'change',
        summary: 'Retry or discard what is parked of one event, or run it again',
        parameters: [path('source'), path('event_id'), action],
        requestBody: body(optional({ reason, effects }), false),
        responses: {
          200: json('Counts', 'What was changed. Zeros if the event is in another state'),
          400: problem('A field is not valid'),
          403: problem('Another site sent this request'),
          404: problem('There is no such event'),
          415: problem('The body is not JSON'),
          ...refusals,
        },
      },
    },
    '/events/{action}': {
      post: {
        operationId: 'changeMany',
        summary: 'The same for all events that match a filter',
        parameters: [
          action,
          query('dry_run', { type: 'string', enum: ['1'] }, 'Change nothing, and answer how many match'),
        ],
        requestBody: body(
          optional(
            {
              filter: ref('Filter'),
              expected: { ...count, description: 'The number that a dry run told' },
              reason,
              effects,
            },
            ['filter'],
          ),
          true,
        ),
        responses: {
          200: {
            description: 'What was changed, or what would be',
            content: { 'application/json': { schema: { oneOf: [ref('Counts'), ref('Matching')] } } },
          },
          400: problem('A field is not valid'),
          403: problem('Another site sent this request'),
          409: problem('Another number of events matches than expected. Nothing was changed'),
          415: problem('The body is not JSON'),
          ...refusals,
        },
      },
    },
    '/activity': {
      get: {
        operationId: 'tail',
        summary: 'What happened since the last call, two seconds late. Finished events are followed for a day',
        parameters: [query('after', text, 'cursor of the last answer. Without it, it begins now')],
        responses: { 200: json('Activity', 'Oldest first'), 400: problem('The cursor is not valid'), ...refusals },
      },
    },
  },
  components: { schemas, securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
};
