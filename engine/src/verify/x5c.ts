import type { KeyInToken, X5c } from '../providers/types.ts';
import { type Bytes, fromBase64, toHex } from '../shared/bytes.ts';
import { memoize } from '../shared/memoize.ts';
import { fromDer } from './algorithms.ts';
import { type Certificate, isValidAt, readCertificate } from './x509.ts';

/**
 * The key of a token comes from a certificate chain in the token's header (RFC 7515, 4.1.6). The chain must end at a
 * root that the data pins. Nothing is fetched, so revocations go unnoticed.
 *
 * @example
 * const keys = x5c({ roots: ['MIIC…'], leafExtension: '2a8648', issuerExtension: '2a8649' });
 */
export function x5c(data: X5c): KeyInToken {
  return { x5c: data, keyOf: (given, header, now) => leafKey(given, header, now) };
}

interface Chain {
  readonly certificates: readonly Certificate[];
  readonly key: CryptoKey;
}

/** A sender has one or two chains at the same time. Only verified chains are cached. */
const MAX_KEPT = 10;
const kept = new Map<string, Chain>();

/** `undefined` if the chain doesn't belong to the sender, or isn't valid now. */
async function leafKey(data: X5c, header: unknown, now: Date): Promise<CryptoKey | undefined> {
  if (!Array.isArray(header) || header.length !== 3) return undefined;
  const id = `${data.roots} ${header[0]} ${header[1]}`;
  const chain = kept.get(id) ?? (await verifiedChain(data, header));
  if (!chain?.certificates.every((certificate) => isValidAt(certificate, now))) return undefined;
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(id, chain);
  return chain.key;
}

/** Ignores the third certificate, because the sender may put anything in its place. The pinned roots replace it. */
async function verifiedChain({ roots, leafExtension, issuerExtension }: X5c, header: readonly unknown[]) {
  const [leaf, issuer] = header.slice(0, 2).map(certificateFrom);
  if (!leaf?.extensions.has(leafExtension) || !issuer?.extensions.has(issuerExtension) || !isAuthority(issuer)) {
    return undefined;
  }
  for (const root of roots.map(rootFrom)) {
    if (!root || !(await isSignedBy(issuer, root)) || !(await isSignedBy(leaf, issuer))) continue;
    const key = await importKey(leaf.publicKey, 'P-256');
    return key && { certificates: [leaf, issuer, root], key };
  }
  return undefined;
}

const MAX_CERTIFICATE = 8192;

function certificateFrom(base64: unknown): Certificate | undefined {
  if (typeof base64 !== 'string' || base64.length > MAX_CERTIFICATE) return undefined;
  const der = fromBase64(base64);
  return der && readCertificate(der);
}

const rootFrom = memoize((base64: string) => certificateFrom(base64));

/** The extension basicConstraints (2.5.29.19) says cA: true. A leaf must not sign other leaves. */
function isAuthority({ extensions }: Certificate): boolean {
  return toHex(extensions.get('551d13') ?? new Uint8Array()).includes('0101ff');
}

async function isSignedBy(certificate: Certificate, issuer: Certificate): Promise<boolean> {
  if (toHex(certificate.issuer) !== toHex(issuer.subject)) return false;
  const hash = HASHES[toHex(certificate.algorithm)];
  const curve = curveOf(issuer.publicKey);
  if (hash === undefined || curve === undefined) return false;
  const key = await importKey(issuer.publicKey, curve);
  const signature = fromDer(certificate.signature, curve === 'P-256' ? 32 : 48);
  if (!key || !signature) return false;
  return crypto.subtle.verify({ name: 'ECDSA', hash }, key, signature, certificate.signed);
}

/** RFC 5758, section 3.2. */
const HASHES: Readonly<Record<string, string | undefined>> = {
  '300a06082a8648ce3d040302': 'SHA-256',
  '300a06082a8648ce3d040303': 'SHA-384',
};

/** RFC 5480, section 2.1.1.1. The object identifiers are in the key's first element. */
function curveOf(spki: Bytes): 'P-256' | 'P-384' | undefined {
  const start = toHex(spki.subarray(0, 30));
  if (start.includes('06082a8648ce3d030107')) return 'P-256';
  return start.includes('06052b81040022') ? 'P-384' : undefined;
}

async function importKey(spki: Bytes, namedCurve: string): Promise<CryptoKey | undefined> {
  return crypto.subtle.importKey('spki', spki, { name: 'ECDSA', namedCurve }, false, ['verify']).catch(() => undefined);
}
