// Writes docs/ops-api.json, the OpenAPI description of /ops/api, from the schemas of requests and answers.
// engine/test/ops-worker/api.test.ts compares it with real answers.
import { execFileSync } from 'node:child_process';
import { toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { ActionCounts, Matching } from '../src/db/actions.ts';
import { ACTIONS } from '../src/db/schema.ts';
import { PauseList, ReconcileStatus, Status } from '../src/db/status.ts';
import { EventPage, ShownEvent } from '../src/ops/api.ts';
import {
  ListFields,
  ManyEventsFields,
  OneEventFields,
  PauseFields,
  ReconcileFields,
  TenantListFields,
  TenantSecretFields,
} from '../src/ops/input.ts';
import { Resealed, TenantChange, TenantPage, TenantSecret } from '../src/ops/tenants.ts';
import { writePage } from './generated.ts';

const FILE = 'docs/ops-api.json';

/** The format of engine/src/shared/problem.ts. */
const Problem = v.pipe(
  v.strictObject({
    type: v.string(),
    title: v.string(),
    status: v.pipe(v.number(), v.integer()),
    detail: v.optional(v.string()),
  }),
  v.description('Problem details (RFC 9457)'),
);

const ANSWERS = {
  Problem,
  Status,
  Events: EventPage,
  Event: ShownEvent,
  Counts: ActionCounts,
  Matching,
  Reconcile: ReconcileStatus,
  Tenants: TenantPage,
  TenantSecret,
  TenantChange,
  Resealed,
  Pauses: PauseList,
};

/** Omits what JSON Schema can't express, for example that a text has no NUL. */
function schemaOf(schema: v.GenericSchema, typeMode: 'input' | 'output' = 'input') {
  const { $schema, ...rest } = toJsonSchema(schema, { typeMode, errorMode: 'ignore' });
  return rest;
}

const ref = (name: keyof typeof ANSWERS) => ({ $ref: `#/components/schemas/${name}` });
const json = (schema: object, description: string) => ({ description, content: { 'application/json': { schema } } });
const problem = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: ref('Problem') } },
});

/** The errors that every operation may answer. */
const REFUSALS = {
  401: problem('OPS_TOKEN is missing or wrong'),
  403: problem('Nobody is let in, because of the configuration; or a change may come from another site'),
  503: problem(
    'Postgres cannot be reached. Deliveries are accepted all the same; or, for tenants, there is no usable TENANTS_KEY',
  ),
};

const path = (name: string, schema: object = { type: 'string' }) => ({ name, in: 'path', required: true, schema });
const queryOf = ({ entries }: { readonly entries: v.ObjectEntries }) =>
  Object.entries(entries).map(([name, field]) => {
    // Query parameters are text, but `limit` is described as a number.
    const { description, ...schema } = schemaOf(field as v.GenericSchema, name === 'limit' ? 'output' : 'input');
    return { name, in: 'query', schema, description };
  });
const action = path('action', { type: 'string', enum: ACTIONS });
const body = (schema: v.GenericSchema, required: boolean) => ({
  required,
  content: { 'application/json': { schema: schemaOf(schema) } },
});

const tenant = [path('source'), path('tenant')];
const notATenant = {
  400: problem('The name or the secret is not valid'),
  404: problem('The source has no tenants, or not this one'),
};

export const openApi = {
  openapi: '3.1.0',
  info: {
    title: 'Claimcheck operator API',
    version: '1',
    description: 'Behind Cloudflare Access, the two headers of a service token take the place of the bearer.',
  },
  servers: [{ url: '/ops/api' }],
  security: [{ bearer: [] }, { basic: [] }],
  paths: {
    '/status': {
      get: {
        operationId: 'status',
        summary: 'What came in, what is stuck, how long events take',
        responses: { 200: json(ref('Status'), 'Per source, per kind of effect, and in all'), ...REFUSALS },
      },
    },
    '/events': {
      get: {
        operationId: 'list',
        summary: 'Events, newest first',
        parameters: queryOf(ListFields),
        responses: { 200: json(ref('Events'), 'A page'), 400: problem('A parameter is not valid'), ...REFUSALS },
      },
    },
    '/events/{source}/{event_id}': {
      get: {
        operationId: 'show',
        summary: 'One event with its body, its effects and the actions of operators',
        parameters: [path('source'), path('event_id')],
        responses: { 200: json(ref('Event'), 'The event'), 404: problem('There is no such event'), ...REFUSALS },
      },
    },
    '/events/{source}/{event_id}/{action}': {
      post: {
        operationId: 'act',
        summary: 'Retry or discard what is parked of one event, or run it again',
        parameters: [path('source'), path('event_id'), action],
        requestBody: body(OneEventFields, false),
        responses: {
          200: json(ref('Counts'), 'How many were changed. Zeros if the event is in another state'),
          400: problem('A field is not valid'),
          404: problem('There is no such event'),
          415: problem('The body is not JSON'),
          ...REFUSALS,
        },
      },
    },
    '/events/{action}': {
      post: {
        operationId: 'actOnMany',
        summary: 'The same for all events that match a filter',
        parameters: [
          action,
          {
            name: 'dry_run',
            in: 'query',
            schema: { type: 'string', enum: ['1'] },
            description: 'Change nothing, and answer how many events match',
          },
        ],
        requestBody: body(ManyEventsFields, true),
        responses: {
          200: json({ oneOf: [ref('Counts'), ref('Matching')] }, 'How many were changed, or what would be'),
          400: problem('A field is not valid'),
          409: problem('Other events match than expected, or too many for a rerun. Nothing was changed'),
          415: problem('The body is not JSON'),
          ...REFUSALS,
        },
      },
    },
    '/pauses/{kind}': {
      post: {
        operationId: 'pause',
        summary: 'Pause a kind of effects, resume it, or try a call now',
        parameters: [path('kind')],
        requestBody: body(PauseFields, true),
        responses: {
          200: json(ref('Pauses'), 'What is paused of this kind now'),
          400: problem('A field is not valid, or nothing is paused'),
          415: problem('The body is not JSON'),
          ...REFUSALS,
        },
      },
    },
    '/reconciles/{source}': {
      post: {
        operationId: 'reconcile',
        summary: 'Let the next tick ask the provider again what it has sent',
        parameters: [path('source')],
        requestBody: body(ReconcileFields, false),
        responses: {
          200: json(ref('Reconcile'), 'As it is now'),
          400: problem('A field is not valid, or the source is not reconciled'),
          415: problem('The body is not JSON'),
          ...REFUSALS,
        },
      },
    },
    '/tenants/{source}': {
      get: {
        operationId: 'listTenants',
        summary: 'The tenants of a source, by name',
        parameters: [path('source'), ...queryOf(TenantListFields)],
        responses: {
          200: json(ref('Tenants'), 'A page'),
          400: problem('A parameter is not valid'),
          404: problem('The source has no tenants'),
          ...REFUSALS,
        },
      },
    },
    '/tenants/{source}/{tenant}': {
      put: {
        operationId: 'addTenant',
        summary: 'Make a tenant. Its deliveries are accepted at once',
        parameters: tenant,
        requestBody: body(TenantSecretFields, false),
        responses: {
          200: json(ref('TenantSecret'), 'It was made'),
          ...notATenant,
          409: problem('There is such a tenant, or its events are still being erased'),
          415: problem('The body is not JSON'),
          ...REFUSALS,
        },
      },
      delete: {
        operationId: 'disableTenant',
        summary: 'Accept no more deliveries of it within a minute. Its events stay',
        parameters: tenant,
        responses: { 200: json(ref('TenantChange'), 'It is disabled'), ...notATenant, ...REFUSALS },
      },
    },
    '/tenants/{source}/{tenant}/rotate': {
      post: {
        operationId: 'rotateTenant',
        summary: 'Give it another secret. Both count until the rotation is finished',
        parameters: tenant,
        requestBody: body(TenantSecretFields, false),
        responses: {
          200: json(ref('TenantSecret'), 'It has two secrets'),
          ...notATenant,
          409: problem('The rotation before is not finished, or somebody else has changed it at this moment'),
          415: problem('The body is not JSON'),
          ...REFUSALS,
        },
      },
    },
    '/tenants/{source}/{tenant}/finish': {
      post: {
        operationId: 'finishTenant',
        summary: 'Accept only its current secret from now on',
        parameters: tenant,
        responses: {
          200: json(ref('TenantChange'), 'It has one secret'),
          ...notATenant,
          409: problem('There is no rotation to finish'),
          ...REFUSALS,
        },
      },
    },
    '/tenants/{source}/{tenant}/erase': {
      post: {
        operationId: 'eraseTenant',
        summary: 'Disable it, and let the next ticks of the consumer erase what its events hold. Their keys stay',
        parameters: tenant,
        responses: { 200: json(ref('TenantChange'), 'It is disabled and marked'), ...notATenant, ...REFUSALS },
      },
    },
    '/tenants/reseal': {
      post: {
        operationId: 'resealTenants',
        summary: 'Encrypt all stored secrets with the current TENANTS_KEY',
        responses: { 200: json(ref('Resealed'), 'How many'), ...REFUSALS },
      },
    },
  },
  components: {
    schemas: Object.fromEntries(Object.entries(ANSWERS).map(([name, schema]) => [name, schemaOf(schema)])),
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer' }, basic: { type: 'http', scheme: 'basic' } },
  },
};

/** Writes docs/ops-api.json. */
export default function main(): void {
  const format = ['format', `--stdin-file-path=${FILE}`];
  const text = execFileSync('node_modules/.bin/biome', format, { input: JSON.stringify(openApi), encoding: 'utf8' });
  writePage(FILE, text, 'docs:ops-api');
}
