import type { Source } from '../../src/kit/index.ts';
import type { CertificateScheme, Scheme, Token } from '../../src/providers/types.ts';
import { secretName } from '../../src/receiver/secrets.ts';
import { signingKeyName } from '../config/dev-vars.ts';
import type { AppSamples, Sources } from '../lib/app.ts';
import type { Stack } from '../local/stack.ts';
import type { Workers } from '../local/workers.ts';
import { eventsIn, makeDelivery, type SignedDelivery, typesToSend } from './delivery.ts';
import { madeUpKeys } from './sign.ts';
import { sampleTenant } from './tenants.ts';

/** Enough events to overlap, but few enough to take seconds. */
const MAX_EVENTS_PER_SOURCE = 25;
/** The limit for all sources together. */
const MAX_EVENTS = 300;
const BAD_PER_SOURCE = 5;
/** Every delivery is sent once and repeated up to this many times. */
const MAX_REPEATS = 4;

/** The status that the receiver must answer for each kind. */
export const KINDS = {
  good: 200,
  forged: 401,
  tampered: 401,
  stale: 401,
  malformed: 400,
} as const;

export interface StormDelivery extends SignedDelivery {
  readonly kind: keyof typeof KINDS;
  readonly source: string;
}

export interface Storm {
  /** In random order, including repeats. */
  readonly deliveries: readonly StormDelivery[];
  /** The number of different good deliveries. */
  readonly distinct: number;
  /** The number of events from each source. */
  readonly events: ReadonlyMap<string, number>;
  /** `source id` of every event whose id is the same in each delivery. */
  readonly ids: ReadonlySet<string>;
  /** For each good delivery, the requested type of its sample and the `source id` of its events. */
  readonly asked: readonly { readonly source: string; readonly type: string; readonly ids: readonly string[] }[];
  /** Sources whose samples contain no event. */
  readonly silent: readonly string[];
}

export interface StormApp {
  readonly sources: Sources;
  readonly samples: AppSamples;
  readonly workers: Pick<Workers, 'url' | 'secrets'>;
  readonly stack: Pick<Stack, 'databaseUrl'>;
}

/** Makes a mixed load for all sources of the app: duplicate, forged, tampered, stale and malformed deliveries. */
export async function makeStorm({ sources, samples, workers, stack }: StormApp): Promise<Storm> {
  const deliveries: StormDelivery[] = [];
  const events = new Map<string, number>();
  const ids = new Set<string>();
  const asked: Storm['asked'][number][] = [];
  const silent: string[] = [];
  let distinct = 0;
  const entries = Object.entries<Source>(sources);
  const perSource = Math.min(Math.ceil(MAX_EVENTS / entries.length), MAX_EVENTS_PER_SOURCE);
  for (const [name, source] of entries) {
    const { url, secrets } = workers;
    const tenant = source.tenants
      ? await sampleTenant({ name, source, tenant: 'acme', databaseUrl: stack.databaseUrl, secrets })
      : undefined;
    const { segment, key = secrets[signingKeyName(name)] ?? secrets[secretName(name)] ?? '' } = tenant ?? {};
    const make: Make = (changes) =>
      makeDelivery({ name, source, key, receiver: url, segment, samples: samples.samples, ...changes });
    const types = typesToSend(name, source, samples.samples);
    const good = await goodDeliveries(name, source, tenant?.tenant, types, make, perSource);
    if (good.length === 0) silent.push(name);
    distinct += good.length;
    events.set(name, good.flatMap(({ eventIds }) => eventIds).length);
    for (const { delivery, type, eventIds, repeatable } of good) {
      const times = repeatable ? 1 + Math.floor(Math.random() * (MAX_REPEATS + 1)) : 1;
      deliveries.push(...Array.from({ length: times }, () => delivery));
      if (!repeatable) continue;
      const found = eventIds.map((id) => `${name} ${id}`);
      for (const id of found) ids.add(id);
      if (type !== undefined) asked.push({ source: name, type, ids: found });
    }
    deliveries.push(...badDeliveries(name, source, make));
  }
  return { deliveries: shuffled(deliveries), distinct, events, ids, asked, silent };
}

interface GoodDelivery {
  readonly delivery: StormDelivery;
  readonly type: string | undefined;
  readonly eventIds: readonly string[];
  /** False for a provider without ids, because each delivery is then a new event. */
  readonly repeatable: boolean;
}

/** Only distinct events: two samples with the same id or replay key would be one event. */
async function goodDeliveries(
  name: string,
  source: Source,
  tenant: string | undefined,
  types: readonly string[],
  make: Make,
  count: number,
): Promise<GoodDelivery[]> {
  const good: GoodDelivery[] = [];
  const seen = new Set<string>();
  for (let n = 0; n < count; n++) {
    const type = types[n % types.length];
    const delivery = { kind: 'good', source: name, ...make({ type }) } as const;
    const found = await eventsIn(source, delivery, tenant);
    const again = await eventsIn(source, delivery, tenant);
    const keys = found.flatMap(({ eventId, fingerprint }) => [eventId, fingerprint ?? eventId]);
    if (found.length === 0 || keys.some((key) => seen.has(key))) continue;
    for (const key of keys) seen.add(key);
    const eventIds = found.map(({ eventId }) => eventId);
    const repeatable = again.every(({ eventId }, index) => eventId === eventIds[index]);
    good.push({ delivery, type, eventIds, repeatable });
  }
  return good;
}

/** Bad deliveries that the provider's scheme can detect. If the body isn't signed, tampering can't be detected. */
function badDeliveries(name: string, { provider }: Source, make: Make): StormDelivery[] {
  const now = Date.now();
  const bad = (kind: StormDelivery['kind'], made: () => SignedDelivery): StormDelivery[] =>
    Array.from({ length: BAD_PER_SOURCE }, () => ({ kind, source: name, ...made() }));
  const forged = bad('forged', () => make({ key: madeUpKeys(provider).signingKey }));
  if ('token' in provider.scheme) return forged;

  const { timestamp } = provider.scheme;
  const wholeBody = signsBodyAsText(provider.scheme);
  const tampered = () => {
    const signed = make({});
    return { ...signed, body: `${signed.body} ` };
  };
  const stale = (seconds: number) => make({ now: new Date(now - (seconds + 60) * 1000) });
  return [
    ...forged,
    ...(wholeBody ? bad('tampered', tampered) : []),
    ...(timestamp ? bad('stale', () => stale(timestamp.windowSeconds)) : []),
    ...(wholeBody && !provider.form && !timestamp?.at.startsWith('json:')
      ? bad('malformed', () => make({ body: '{"id":' }))
      : []),
  ];
}

function signsBodyAsText(scheme: Exclude<Scheme, Token>): boolean {
  if (scheme.check !== undefined) return scheme.kind === 'jose' ? scheme.bodyHash !== undefined : signsChecksum(scheme);
  const { signed, signature } = scheme;
  const inside = [signature].flat().some((place) => place.startsWith('json:'));
  return !inside && typeof signed === 'string' && signed.includes('{body}');
}

/** Whether the scheme signs only a checksum of the body. */
function signsChecksum({ signed }: CertificateScheme): boolean {
  return signed.some(({ text }) => text.includes('{crc32}'));
}

/** Makes a delivery of one source. */
type Make = (changes: { type?: string | undefined; key?: string; now?: Date; body?: string }) => SignedDelivery;

function shuffled<Value>(values: readonly Value[]): Value[] {
  return values
    .map((value) => ({ value, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ value }) => value);
}
