import { openDatabase } from '../db/client.ts';
import { DatabaseError } from '../db/errors.ts';
import { findTenant, type TenantRow } from '../db/tenants.ts';
import type { ReceiverBindings } from '../shared/runtime.ts';
import { settingOf } from '../shared/settings.ts';
import { readSegment, secretOf, type TenantId, type TenantKeys, tenantKeysFrom } from '../shared/tenants.ts';
import { withTimeLimit } from '../shared/time-limit.ts';

/** The tenant of a delivery. We made its address; whether the tenant exists isn't known yet. */
export interface CalledTenant {
  readonly outcome: 'called';
  readonly id: TenantId;
  /** The last segment of the address. */
  readonly segment: string;
  readonly keys: TenantKeys;
  /** Which of two keys made the address. `undefined` if only one is set. */
  readonly addressedWith: 'current' | 'previous' | undefined;
}

/** Reads the tenant from an address. This takes one hash: no body is read, and Postgres isn't asked. */
export async function callTenant(
  source: string,
  segment: string,
  env: object,
): Promise<CalledTenant | { outcome: 'no_such_tenant' } | { outcome: 'no_usable_tenants_key' }> {
  const keys = await tenantKeysFrom(settingOf(env, 'TENANTS_KEY'), settingOf(env, 'TENANTS_KEY_PREVIOUS'));
  if (keys === undefined) return { outcome: 'no_usable_tenants_key' };
  const read = await readSegment(keys, source, segment);
  if (read === undefined) return { outcome: 'no_such_tenant' };
  const addressedWith = keys.length === 1 ? undefined : read.keyIndex === 0 ? 'current' : 'previous';
  return { outcome: 'called', id: { source, tenant: read.tenant }, segment, keys, addressedWith };
}

export type TenantSecrets =
  /** The current secret first. */
  | { outcome: 'found'; secrets: readonly string[] }
  /** The current secret was made or sealed with a TENANTS_KEY that is no longer set. */
  | { outcome: 'no_usable_secret' }
  /** There is no such tenant, or it is disabled. */
  | { outcome: 'no_such_tenant' }
  /** Postgres doesn't answer, and this isolate doesn't know the tenant. */
  | { outcome: 'tenant_unavailable'; reason: string };

/** After a change, every isolate uses the new secrets after this time at the latest. */
const FRESH_MS = 60_000;
/**
 * After a wrong signature, or for a missing tenant, Postgres is asked again after this time: the secret may be new, or the
 * tenant may have just been made.
 */
const ASK_AGAIN_MS = 1000;
/** While Postgres is away, an older secret is better than losing a delivery, but not for long: it may have been revoked. */
const USABLE_MS = 3_600_000;
/** After a failure, Postgres isn't asked for this long about tenants that are known: their kept secrets are used. */
const ASK_AGAIN_AFTER_FAILURE_MS = 10_000;
/** How many tenants an isolate keeps, of all sources. One takes about 1 KiB, and 2 KiB more for its imported keys. */
const MAX_KEPT = 1000;

type Known = Exclude<TenantSecrets, { outcome: 'tenant_unavailable' }>;

interface Entry {
  known?: { readonly found: Known; readonly at: number };
  asking?: { readonly answer: Promise<string | undefined>; readonly since: number };
}

/** The secrets of the tenants that an isolate has seen. */
export class Tenants {
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => Date;
  readonly #timeoutMs: number;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => Date, timeoutMs: number) {
    this.#now = now;
    this.#timeoutMs = timeoutMs;
  }

  async secretsOf(tenant: CalledTenant, env: ReceiverBindings): Promise<TenantSecrets> {
    const entry = this.#entryOf(tenant.id);
    const freshMs = entry.known?.found.outcome === 'found' ? FRESH_MS : ASK_AGAIN_MS;
    const fresh = this.#youngerThan(freshMs, entry);
    if (fresh) return fresh;
    const found = await this.#ask(entry, tenant, env);
    return found.outcome === 'tenant_unavailable' ? (this.#usableIn(entry) ?? found) : found;
  }

  /**
   * After a wrong signature: the secrets that Postgres has now. Returns `undefined` if they are unchanged, or were read less
   * than a second ago. While Postgres is away, the secret may have been changed, so this returns `tenant_unavailable` (503),
   * and the sender tries again.
   */
  async changedSecretsOf(tenant: CalledTenant, env: ReceiverBindings): Promise<TenantSecrets | undefined> {
    const entry = this.#entryOf(tenant.id);
    const { known } = entry;
    if (this.#youngerThan(ASK_AGAIN_MS, entry)) return undefined;
    const found = await this.#ask(entry, tenant, env);
    return JSON.stringify(found) === JSON.stringify(known?.found) ? undefined : found;
  }

  #entryOf({ source, tenant }: TenantId): Entry {
    const name = `${source}/${tenant}`;
    const entry = this.#entries.get(name) ?? {};
    // An entry that is used moves to the end, so the first entry is the one that was unused for the longest time.
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    const [oldest = ''] = this.#entries.keys();
    if (this.#entries.size > MAX_KEPT) this.#entries.delete(oldest);
    return entry;
  }

  #youngerThan(ms: number, { known }: Entry) {
    return known && this.#now().getTime() - known.at < ms ? known.found : undefined;
  }

  /** While Postgres is away. Not `no_such_tenant`: the tenant may have been made since, and after a 404 its sender gives up. */
  #usableIn(entry: Entry) {
    const known = this.#youngerThan(USABLE_MS, entry);
    return known?.outcome === 'found' ? known : undefined;
  }

  /** Concurrent deliveries of a tenant share one query. */
  async #ask(entry: Entry, tenant: CalledTenant, env: ReceiverBindings): Promise<TenantSecrets> {
    const since = this.#now().getTime();
    if (this.#usableIn(entry) && since - this.#failedAt < ASK_AGAIN_AFTER_FAILURE_MS) {
      return { outcome: 'tenant_unavailable', reason: 'Postgres did not answer a moment ago' };
    }
    // If the runtime ended the request that began this query, its promise never settles. So after the time limit,
    // another query is begun.
    const isAlive = entry.asking && since - entry.asking.since < this.#timeoutMs;
    if (!isAlive) entry.asking = { answer: this.#look(entry, tenant, env), since };
    const reason = await withTimeLimit(this.#timeoutMs, entry.asking?.answer, () => 'Postgres did not answer in time');
    if (reason === undefined && entry.known) return entry.known.found;
    this.#failedAt = this.#now().getTime();
    return { outcome: 'tenant_unavailable', reason: reason ?? '' };
  }

  /** Stores what Postgres answers, or returns why it doesn't. Never throws, because several deliveries wait for it. */
  async #look(entry: Entry, tenant: CalledTenant, env: ReceiverBindings): Promise<string | undefined> {
    try {
      const row = await findTenant(openDatabase(env.DATABASE_URL, 'none'), tenant.id);
      const isThere = row !== undefined && !row.isDisabled;
      const found = isThere ? await secretsFrom(row, tenant) : { outcome: 'no_such_tenant' as const };
      entry.known = { found, at: this.#now().getTime() };
      return undefined;
    } catch (error) {
      return DatabaseError.fromThrown(error).message;
    } finally {
      delete entry.asking;
    }
  }
}

async function secretsFrom(row: TenantRow, { id, keys }: CalledTenant): Promise<Known> {
  const current = await secretOf(keys, id, 'sealed', row);
  // As for a source: without a current secret, the previous one isn't used.
  if (current === undefined) return { outcome: 'no_usable_secret' };
  const { previousGeneration: generation, previousKeyId: keyId, sealedPrevious: sealed } = row;
  const isRotating = generation !== null && keyId !== null;
  const previous = isRotating && (await secretOf(keys, id, 'sealed_previous', { generation, keyId, sealed }));
  return { outcome: 'found', secrets: previous ? [current, previous] : [current] };
}
