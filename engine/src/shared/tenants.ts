import { decrypt, encrypt } from './aes-gcm.ts';
import { toHex } from './bytes.ts';
import { memoize } from './memoize.ts';

// The addresses and secrets of tenants, made with the secret TENANTS_KEY. A tenant is one of many senders behind a source.

/** A shorter one could be guessed. `openssl rand -hex 32` makes 64 characters. */
export const MIN_TENANTS_KEY = 32;

/** A tenant's name. It is a part of an address, of an event's id and of log lines. */
const TENANT_NAME = /^[a-z0-9_-]{1,64}$/;

export function isTenantName(text: string): boolean {
  return TENANT_NAME.test(text);
}

/** Of a tenant's event: its id, its replay key and its order key begin with the tenant, so that two tenants' never meet. */
export function ofTenant(tenant: string | undefined, text: string): string {
  return tenant === undefined ? text : `${tenant}:${text}`;
}

/** The tenant that an event's id begins with. */
export function tenantIn(eventId: string): string | undefined {
  const [tenant = ''] = eventId.split(':', 1);
  return tenant !== eventId && isTenantName(tenant) ? tenant : undefined;
}

/** Which tenant is meant. */
export interface TenantId {
  readonly source: string;
  readonly tenant: string;
}

/** What is made of a TENANTS_KEY. */
export interface TenantKey {
  /** Names the key, and says nothing else about it. */
  readonly id: string;
  readonly address: CryptoKey;
  readonly secret: CryptoKey;
  readonly seal: CryptoKey;
}

/** The current key first. */
export type TenantKeys = readonly [TenantKey, ...TenantKey[]];

/** `undefined` if there is no key, or one of the two is too short. */
export async function tenantKeysFrom(
  current: string | undefined,
  previous: string | undefined,
): Promise<TenantKeys | undefined> {
  const [first, ...others] = [current ?? '', ...(previous === undefined ? [] : [previous])].map((key) => key.trim());
  if (first === undefined || [first, ...others].some((key) => key.length < MIN_TENANTS_KEY)) return undefined;
  return [await keyFrom(first), ...(await Promise.all(others.map(keyFrom)))];
}

const utf8 = new TextEncoder();

/** HKDF (RFC 5869) makes independent keys with labels. */
const keyFrom = memoize(async (tenantsKey: string): Promise<TenantKey> => {
  const base = await crypto.subtle.importKey('raw', utf8.encode(tenantsKey), 'HKDF', false, [
    'deriveBits',
    'deriveKey',
  ]);
  const from = (label: string) => ({
    name: 'HKDF',
    hash: 'SHA-256',
    salt: new Uint8Array(),
    info: utf8.encode(label),
  });
  const mac = (label: string) =>
    crypto.subtle.deriveKey(from(label), base, { name: 'HMAC', hash: 'SHA-256', length: 256 }, false, ['sign']);
  return {
    id: toHex(await crypto.subtle.deriveBits(from('id'), base, 32)),
    address: await mac('address'),
    secret: await mac('secret'),
    seal: await crypto.subtle.deriveKey(from('seal'), base, { name: 'AES-GCM', length: 256 }, false, [
      'encrypt',
      'decrypt',
    ]),
  };
});

/** Nobody can guess so much, and an address stays short. */
const TAG_BYTES = 16;

async function tagOf(key: TenantKey, { source, tenant }: TenantId): Promise<Uint8Array<ArrayBuffer>> {
  const mac = await crypto.subtle.sign('HMAC', key.address, utf8.encode(JSON.stringify([source, tenant])));
  return new Uint8Array(mac).slice(0, TAG_BYTES);
}

/** The last segment of a tenant's address: `acme.3f9a…`. The tag shows that we have made it. It proves nothing about a sender. */
export async function segmentOf(key: TenantKey, id: TenantId): Promise<string> {
  return `${id.tenant}.${toHex(await tagOf(key, id))}`;
}

/** The tenant of an address that we have made, and which key has made it. */
export async function readSegment(
  keys: TenantKeys,
  source: string,
  segment: string,
): Promise<{ readonly tenant: string; readonly keyIndex: number } | undefined> {
  const [, tenant = '', tag = ''] = /^([^.]*)\.([0-9a-f]{32})$/.exec(segment) ?? [];
  if (!isTenantName(tenant)) return undefined;
  for (const [keyIndex, key] of keys.entries()) {
    if (isSameTag(toHex(await tagOf(key, { source, tenant })), tag)) return { tenant, keyIndex };
  }
  return undefined;
}

/** Both have the same length. Every character is compared, so that the time doesn't say where they differ. */
function isSameTag(one: string, other: string): boolean {
  let difference = 0;
  for (let n = 0; n < one.length; n++) difference |= one.charCodeAt(n) ^ other.charCodeAt(n);
  return difference === 0;
}

/** An address with the tenant's segment behind its path. */
export function addressOf(url: string, segment: string): string {
  const [path = '', ...query] = url.split('?');
  return [`${path}/${segment}`, ...query].join('?');
}

/** The secret of one generation, as the row of its tenant has it. */
export interface TenantSecret {
  readonly keyId: string;
  readonly generation: number;
  /** Null: the secret is derived from the key. */
  readonly sealed: string | null;
}

/** 64 hex digits, which are a key in each of the forms that providers give a shared secret: text, hex and base64. */
export async function derivedSecret(key: TenantKey, id: TenantId, generation: number): Promise<string> {
  const { source, tenant } = id;
  return toHex(await crypto.subtle.sign('HMAC', key.secret, utf8.encode(JSON.stringify([source, tenant, generation]))));
}

/** The column is a part of what is encrypted: no value can be moved to another column or tenant. */
export type SealedColumn = 'sealed' | 'sealed_previous';

export function sealSecret(key: TenantKey, id: TenantId, column: SealedColumn, secret: string): Promise<string> {
  return encrypt(key.seal, secret, aboutSealed(id, column));
}

function aboutSealed({ source, tenant }: TenantId, column: SealedColumn): string {
  return JSON.stringify([source, tenant, column]);
}

/** `undefined` if its key is none of ours, or the value was moved. */
export async function secretOf(
  keys: TenantKeys,
  id: TenantId,
  column: SealedColumn,
  { keyId, generation, sealed }: TenantSecret,
): Promise<string | undefined> {
  const key = keys.find((one) => one.id === keyId);
  if (key === undefined) return undefined;
  if (sealed === null) return derivedSecret(key, id, generation);
  return decrypt(key.seal, sealed, aboutSealed(id, column)).catch(() => undefined);
}
