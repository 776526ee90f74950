import { type Context, Hono } from 'hono';
import { MAX_REPLAYS } from '../db/claim.ts';
import type { Source } from '../kit/index.ts';
import type { Reply } from '../providers/types.ts';
import { errorFields, eventIdFields, type Log, type LogFields } from '../shared/log.ts';
import { problem } from '../shared/problem.ts';
import type { ReceiverBindings } from '../shared/runtime.ts';
import { addressOf } from '../shared/tenants.ts';
import { traceFields } from '../shared/trace.ts';
import { DeliveryValues } from '../verify/delivery.ts';
import { readSignatures, signatureMissing, signsInsideBody, type Verdict, verify } from '../verify/index.ts';
import { BODY_DEADLINE_MS, type Body, BodyBudget, readBody } from './body.ts';
import { CLAIM_TIMEOUT_MS, type ClaimOutcome, claimOrForward, sendOverdueTickets } from './claim-or-forward.ts';
import { type HandshakeResult, handshakesOf, methodsOf, tryHandshakes } from './handshake.ts';
import { hasUnsignedIds, type IdentifyResult, identify, keptHeaders } from './identify.ts';
import { secretName, secretsOf } from './secrets.ts';
import { type CalledTenant, callTenant, type TenantSecrets, Tenants } from './tenants.ts';

export interface ReceiverDependencies {
  readonly sources: Readonly<Record<string, Source>>;
  readonly now: () => Date;
  readonly log: Log;
  /** For events without an id of their own. */
  readonly randomId?: () => string;
  /** How long Postgres may take for a claim. Tests set it, so that a slow machine doesn't decide what they see. */
  readonly claimTimeoutMs?: number;
}

/** Logs what somebody should look at once in the life of an isolate, and not for every delivery. */
type ReportOnce = (outcome: string, source: string | undefined, variable?: string) => void;

/** A flood of duplicates must not double the queries to Postgres. The sweep finds what is not looked up here. */
const LOOK_UP_EVERY_MS = 1000;

export function createReceiver({
  sources,
  now,
  log,
  randomId = () => crypto.randomUUID(),
  claimTimeoutMs = CLAIM_TIMEOUT_MS,
}: ReceiverDependencies): Hono<{ Bindings: ReceiverBindings }> {
  const app = new Hono<{ Bindings: ReceiverBindings }>();
  const reported = new Set<string>();
  const reportOnce: ReportOnce = (outcome, source, variable) => {
    const about = `${outcome} ${variable ?? source}`;
    if (!reported.has(about)) log({ step: 'configuration', outcome, variable, source });
    reported.add(about);
  };
  const tenants = new Tenants(now, claimTimeoutMs);
  const dependencies = { now, log, randomId, claimTimeoutMs, budget: new BodyBudget(), reportOnce, tenants };
  let lookedUpAt = 0;

  const answerDelivery = async (
    c: Context<{ Bindings: ReceiverBindings }>,
    name: string,
    segment?: string,
  ): Promise<Response> => {
    const started = now();
    const source = Object.hasOwn(sources, name) ? sources[name] : undefined;
    if (source === undefined || (source.tenants === true) !== (segment !== undefined)) return noSuchSource();
    const called = segment === undefined ? undefined : await callTenant(name, segment, c.env);
    if (called?.outcome === 'no_such_tenant') return noSuchSource();
    const methods = methodsOf(source.provider);
    if (!methods.includes(c.req.method)) {
      return problem(405, 'Deliveries are sent with POST', undefined, { allow: methods.join(', ') });
    }

    let answer: Answer;
    try {
      const result =
        called?.outcome === 'no_usable_tenants_key'
          ? called
          : await receive(c.req.raw, name, source, called, c.env, dependencies);
      answer = answerTo(result, name, source.provider.ack);
    } catch (thrown) {
      // A mistake in our code must not make a sender give its event up: after a 503 it sends the event again.
      answer = answerTo({ outcome: 'error', thrown }, name);
    }
    const { response, fields, missing, duplicates } = answer;
    const tenant = called?.outcome === 'called' ? called.id.tenant : undefined;
    const addressed_with = called?.outcome === 'called' ? called.addressedWith : undefined;
    if (missing && tenant === undefined) reportOnce(fields.outcome, missing.source, missing.variable);
    if (duplicates && now().getTime() - lookedUpAt >= LOOK_UP_EVERY_MS) {
      lookedUpAt = now().getTime();
      keepAlive(c, () => sendOverdueTickets(name, duplicates, c.env, now(), log));
    }
    const ms = now().getTime() - started.getTime();
    log({
      step: 'delivery',
      source: name,
      tenant,
      addressed_with,
      ...fields,
      ...traceFields(c.req.header('traceparent')),
      ms,
    });
    return response;
  };

  const answerInFull = (c: Context<{ Bindings: ReceiverBindings }>, name: string, segment?: string) => {
    const answering = answerDelivery(c, name, segment);
    // Otherwise workerd ends a delivery whose sender resets the connection, without its `finally`: the budget would
    // count its bytes as long as the isolate lives, and an event that is claimed already would get no ticket.
    keepAlive(c, () => answering);
    return answering;
  };

  app.all('/:source', (c) => answerInFull(c, c.req.param('source')));
  app.all('/:source/:tenant', (c) => answerInFull(c, c.req.param('source'), c.req.param('tenant')));
  app.all('*', noSuchSource);
  return app;
}

function noSuchSource(): Response {
  return problem(404, 'There is no such source');
}

/**
 * Lets work go on after the answer, or after the sender has reset the connection. Without a context, as in tests that
 * run in Node, `work` is not called.
 */
function keepAlive(c: Context, work: () => Promise<unknown>): void {
  try {
    c.executionCtx.waitUntil(work());
  } catch {}
}

/** `signedWith` is set while a source has two secrets. Once no line says `previous`, delete the previous secret. */
type DeliveryOutcome = { signedWith?: 'current' | 'previous' | undefined } & (
  | { outcome: 'no_usable_secret' }
  | { outcome: 'no_usable_tenants_key' }
  | Exclude<TenantSecrets, { outcome: 'found' }>
  | Exclude<Body, { outcome: 'read' }>
  | Exclude<Verdict, { outcome: 'verified' }>
  | HandshakeResult
  | Exclude<IdentifyResult, { outcome: 'identified' }>
  | { outcome: 'no_events' }
  | ClaimOutcome
  | { outcome: 'error'; thrown: unknown }
);

/**
 * Far above the size of most events, and small enough that a Worker's 128 MB can hold several such bodies in several
 * forms. Some providers send more: they, or a source, set their own limit.
 */
const MAX_BYTES = 1024 * 1024;

/** The path of one delivery. In this order: bytes before text, verify before parse, claim before the 200. */
async function receive(
  request: Request,
  name: string,
  source: Source,
  tenant: CalledTenant | undefined,
  env: ReceiverBindings,
  dependencies: Required<Omit<ReceiverDependencies, 'sources'>> & {
    readonly budget: BodyBudget;
    readonly reportOnce: ReportOnce;
    readonly tenants: Tenants;
  },
): Promise<DeliveryOutcome> {
  const { now, log, randomId, claimTimeoutMs, reportOnce, tenants } = dependencies;
  const { provider } = source;
  const { method, headers } = request;
  let secrets: readonly string[] = tenant ? [] : secretsOf(name, env);
  if (!tenant && secrets.length === 0) return { outcome: 'no_usable_secret' };

  const delivery = new DeliveryValues({ method, headers, url: publicUrl(source, tenant, request) });
  const unsigned = provider.handshakes ? handshakesOf(source, method, 'unsigned') : [];
  let signatures = signsInsideBody(provider) ? undefined : readSignatures(provider, delivery);
  // The body of a sender that has signed nothing is not read: it would cost memory.
  if (signatures?.size === 0 && unsigned.length === 0) return signatureMissing(provider);

  if (tenant) {
    const found = await tenants.secretsOf(tenant, env);
    if (found.outcome !== 'found') return found;
    ({ secrets } = found);
  }

  const maxBytes = source.maxBytes ?? provider.maxBytes ?? MAX_BYTES;
  const budget = tenant ? dependencies.budget.ofTenant(`${name}/${tenant.id.tenant}`, maxBytes) : dependencies.budget;
  const body = await readBody(request, maxBytes, BODY_DEADLINE_MS, budget);
  if (body.outcome !== 'read') return body;
  try {
    // The body is complete now. Reading it took time, and a signed time must be fresh at the end of it.
    const receivedAt = now();
    delivery.body = body.bytes;
    signatures ??= readSignatures(provider, delivery);

    // A signed POST is a delivery. A GET is always a handshake.
    if (signatures.size === 0 || method === 'GET') {
      const handshake = unsigned.length > 0 && (await tryHandshakes(unsigned, delivery, name, env, secrets[0] ?? ''));
      if (handshake) return handshake;
      if (method === 'GET') return { outcome: 'refused', reason: 'no such handshake' };
    }

    let verdict = await verify(provider, delivery, signatures, secrets, receivedAt);
    const changed = tenant && verdict.outcome === 'refused' && (await tenants.changedSecretsOf(tenant, env));
    if (changed) {
      if (changed.outcome !== 'found') return changed;
      ({ secrets } = changed);
      verdict = await verify(provider, delivery, signatures, secrets, receivedAt);
    }
    if (verdict.outcome === 'refused') {
      // A secret in the wrong form is our mistake, like a missing one. After a 401, some senders give the event up.
      return verdict.reason === 'secret malformed' ? { outcome: 'no_usable_secret' } : verdict;
    }
    if (verdict.outcome === 'keys_unavailable') return verdict;
    const { secretIndex } = verdict;
    const signedWith = secrets.length === 1 ? undefined : secretIndex === 0 ? 'current' : 'previous';
    if (provider.handshakes) {
      const signed = handshakesOf(source, method, 'signed');
      const handshake = await tryHandshakes(signed, delivery, name, env, secrets[secretIndex] ?? '');
      if (handshake) return { ...handshake, signedWith };
    }

    const identified = await identify(source, delivery, randomId, tenant?.id.tenant);
    if (identified.outcome === 'unclaimable') return { ...identified, signedWith };
    const { events } = identified;
    if (events.length === 0) return { outcome: 'no_events', signedWith };
    if (source.orderKey && events.some(({ orderKey }) => orderKey === undefined)) reportOnce('no_order_key', name);
    const kept = keptHeaders(provider, headers, events.length);
    const claimRequest = {
      source: name,
      tenant: tenant?.id.tenant,
      events,
      headers: kept,
      receivedAt,
      unsignedIds: hasUnsignedIds(source),
    };
    const held = await claimOrForward(claimRequest, env, log, claimTimeoutMs);
    return { ...held, signedWith };
  } finally {
    budget.giveBack(body.held);
  }
}

/**
 * The URL that the provider has signed. Behind a proxy or a custom domain this is not the URL of the request, but the
 * one that the source configures. A provider may also add parameters for a single delivery and sign them: Twilio adds
 * `bodySHA256`. Only the request knows those.
 */
function publicUrl(source: Source, tenant: CalledTenant | undefined, request: Request): string {
  if (source.url === undefined) return request.url;
  const url = tenant ? addressOf(source.url, tenant.segment) : source.url;
  const { search } = new URL(request.url);
  // If the configured URL has no query, the provider has added all parameters of the request.
  if (!url.includes('?')) return url + search;
  const configured = URL.canParse(url) ? new URL(url).search : '';
  // With a query of its own, only the parameters behind it were added. If the query of the request begins differently,
  // the proxy has replaced it, and the provider has not signed it.
  const isExtended = configured !== '' && search.startsWith(`${configured}&`);
  return isExtended ? url + search.slice(configured.length) : url;
}

interface Answer {
  readonly response: Response;
  readonly fields: LogFields;
  /** What the operator has to configure before this source can work. */
  readonly missing?: { readonly variable: string; readonly source?: string };
  /** The ids of a delivery that holds duplicates: their tickets may be lost. */
  readonly duplicates?: readonly string[];
}

/** Seconds until a sender should try again. Neon is awake by then, and no provider gives up so soon. */
const RETRY_AFTER = '30';

/** The table of status codes, with what the log says about each outcome. `ack` is the 200 that this provider demands. */
function answerTo(result: DeliveryOutcome, name: string, ack?: Reply): Answer {
  const { outcome, signedWith: signed_with } = result;
  switch (result.outcome) {
    case 'claimed': {
      const { eventIds, claims } = result;
      const parked = claims.parked.length;
      const accepted = claims.claimed.length + parked;
      const duplicate = eventIds.length - accepted;
      const status = accepted > 0 ? 'accepted' : 'duplicate';
      return {
        response: success(eventIds.length === 1 ? { status } : { status, accepted, duplicate }, ack),
        fields: { outcome: status, ...eventIdFields(eventIds), signed_with, ...(parked > 0 ? { parked } : {}) },
        ...(duplicate > 0 ? { duplicates: eventIds } : {}),
      };
    }
    case 'forwarded': {
      const { eventIds } = result;
      const counts = eventIds.length === 1 ? {} : { accepted: eventIds.length, duplicate: 0 };
      return {
        response: success({ status: 'accepted', ...counts }, ack),
        fields: { outcome: 'accepted', ...eventIdFields(eventIds), signed_with, forwarded: true },
      };
    }
    case 'no_events':
      // A heartbeat, or a test of the address.
      return {
        response: success({ status: 'accepted', accepted: 0, duplicate: 0 }, ack),
        fields: { outcome: 'accepted', ...eventIdFields([]), signed_with },
      };
    case 'handshake':
      // `sealed`: only the operator can read it, with npm run ops -- unseal.
      return { response: respond(result.reply), fields: { outcome, signed_with, sealed: result.sealed } };
    case 'unclaimable': {
      const { reason } = result;
      const title = 'The delivery is signed correctly, but it contains no event that can be claimed';
      return { response: problem(400, title, reason), fields: { outcome, signed_with, reason } };
    }
    case 'refused':
      // Every refused signature looks the same from outside.
      return {
        response: problem(401, 'The signature is missing, wrong or stale'),
        fields: {
          outcome,
          reason: result.reason,
          missing: result.missing,
          claim: result.claim,
          seconds_off: result.secondsOff,
        },
      };
    case 'keys_unavailable':
      return { response: tryAgain(), fields: { outcome, host: result.host, why: result.why } };
    case 'too_large':
      return { response: problem(413, 'The body is larger than this source accepts'), fields: { outcome } };
    case 'no_usable_secret':
      return { response: tryAgain(), fields: { outcome }, missing: { source: name, variable: secretName(name) } };
    case 'no_usable_tenants_key':
      return { response: tryAgain(), fields: { outcome }, missing: { variable: 'TENANTS_KEY' } };
    case 'no_such_tenant':
      return { response: noSuchSource(), fields: { outcome } };
    case 'tenant_unavailable':
      return { response: tryAgain(), fields: { outcome, reason: result.reason } };
    case 'no_database_url':
      return { response: tryAgain(), fields: { outcome }, missing: { variable: 'DATABASE_URL' } };
    case 'too_many_replays':
      return {
        response: tryAgain(),
        fields: { outcome, ...eventIdFields(result.eventIds), signed_with, limit: MAX_REPLAYS },
      };
    case 'not_confirmed':
      return { response: tryAgain(), fields: { outcome, host: result.host, signed_with } };
    case 'too_slow':
    case 'overloaded':
    case 'hung_up':
    case 'not_held':
      return { response: tryAgain(), fields: { outcome } };
    case 'error':
      return { response: tryAgain(), fields: { outcome, ...errorFields(result.thrown) } };
  }
}

function tryAgain(): Response {
  const headers = { 'retry-after': RETRY_AFTER };
  return problem(503, 'The event could not be stored: send it again later', undefined, headers);
}

function success(body: object, ack: Reply | undefined): Response {
  return ack === undefined ? Response.json(body) : respond(ack);
}

/** `nosniff`: a handshake repeats what a stranger wrote, and no browser may take it for a page. Dropbox requires it. */
function respond({ status, headers, text }: Reply): Response {
  return new Response(text ?? null, { status, headers: { 'x-content-type-options': 'nosniff', ...headers } });
}
