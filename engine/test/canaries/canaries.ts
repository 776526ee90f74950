// Secrets, bodies, signatures, connection strings and operators' tokens that the tests use, and a search for them in
// everything that the code under test puts out. console.ts and fetch.ts call it for every test file.

import type { Log } from '../../src/shared/log.ts';

export type Kind = 'body' | 'secret' | 'signature' | 'connection string' | 'operator token';

/** Is inside the body of every delivery that is signed for a test. */
export const BODY_MARK = 'canary-of-a-body-7f3a91c4';

/**
 * A canary is cut into blocks of this many characters, and a leak is found if it contains one of them, as every piece of
 * 23 characters does. Shorter blocks would also occur by chance: 12 hex digits are 48 bits.
 */
const BLOCK = 12;

/** Words such as `aaaaaaaaaaaa`, which tests send instead of a signature, are not secret, and an id may be like them. */
const MIN_DIFFERENT = 6;

const kinds = new Map<string, Kind>();
const known = new Set<string>();
const leaks: string[] = [];

const done = new Set<string>();

/** Test files of one process share their modules, but what runs before every file runs for each of them. */
export function once(what: string, work: () => void): void {
  if (!done.has(what)) work();
  done.add(what);
}

/** From now on, no output of this test file may contain this value in any usual encoding. */
export function learn(kind: Kind, value: string): void {
  if (value.length < BLOCK || known.has(value)) return;
  known.add(value);
  for (const form of formsOf(value)) {
    const text = form.toLowerCase();
    for (let at = 0; at + BLOCK <= text.length; at += BLOCK) {
      const block = text.slice(at, at + BLOCK);
      if (new Set(block).size >= MIN_DIFFERENT) kinds.set(block, kind);
    }
  }
}

/** Secrets by name, as a Worker or a `.dev.vars` has them. */
export function learnVariables(variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value = ''] of Object.entries(variables)) {
    if (name === 'DATABASE_URL') learnPassword(value);
    else if (name === 'OPS_TOKEN') learn('operator token', value);
    else if (/SECRET|TOKEN|KEY/.test(name) && !isPublicKey(value)) learn('secret', value);
  }
}

export function learnPassword(databaseUrl: string): void {
  // Every encoding is searched for, so also the encoded password itself.
  if (URL.canParse(databaseUrl)) learn('connection string', new URL(databaseUrl).password);
}

/** Remembers every canary in an output. `allowed` are the kinds that this output shows on purpose. */
export function search(output: string, where: string, allowed: readonly Kind[] = []): void {
  // Whatever encodes a canary, it is a run of these characters.
  for (const [run] of output.toLowerCase().matchAll(/[\w+/=%.\\-]{12,}/g)) {
    for (let at = 0; at + BLOCK <= run.length; at++) {
      const kind = kinds.get(run.slice(at, at + BLOCK));
      if (kind === undefined || allowed.includes(kind)) continue;
      leaks.push(`${where} shows a canary (${kind}): ${run.slice(0, 80)}`);
      break;
    }
  }
}

/** The log of a Worker that runs in the test's own process. */
export const searchedLog: Log = (line) => search(JSON.stringify(line), 'a log line');

/** What was found since the last call. */
export function takeLeaks(): string[] {
  return leaks.splice(0);
}

/** Adds the mark to a JSON body, as its first field. Any other body is returned as it is. */
export function withMark(body: string): string {
  return body.replace(/^(\s*\[?\s*\{)(\s*\})?/, (_all, start: string, end?: string) => {
    return `${start}"canary":"${BODY_MARK}"${end ?? ','}`;
  });
}

/** A public key may be shown to anybody. Ed25519 keys are told by their providers' prefix, ECDSA keys by SPKI's. */
function isPublicKey(value: string): boolean {
  return value.startsWith('whpk_') || value.startsWith('MFkwEwYHKoZIzj0');
}

function formsOf(value: string): string[] {
  const bytes = [new TextEncoder().encode(value), ...decoded(value)];
  return [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value), ...bytes.flatMap(encodings)];
}

/** The bytes of a key or signature that is configured or sent as hex or base64. */
function decoded(value: string): Uint8Array[] {
  const text = value.replace(/^whsec_/, '');
  if (/^([0-9a-f]{2})+$/i.test(text))
    return [Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))];
  try {
    return [Uint8Array.from(atob(text), (char) => char.charCodeAt(0))];
  } catch {
    return [];
  }
}

/** In base64, bytes look different behind none, one or two others. What their neighbours change is cut off. */
function encodings(bytes: Uint8Array): string[] {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const base64 = [0, 1, 2].map((before) => {
    const text = btoa('\0'.repeat(before) + String.fromCharCode(...bytes)).replace(/=+$/, '');
    return text.slice(before === 0 ? 0 : 4, -1);
  });
  return [hex, ...base64, ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))];
}

learn('body', BODY_MARK);
