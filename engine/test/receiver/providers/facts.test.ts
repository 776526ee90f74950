import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { factOf } from '../../../src/providers/proof.ts';
import type {
  CertificateScheme,
  Condition,
  Handshake,
  Jose,
  Provider,
  Scheme,
  Template,
} from '../../../src/providers/types.ts';
import { signaturePlaces } from '../../../src/verify/index.ts';
import { proofOf, proofs } from '../../../workshop/proofs.ts';
import { names, providerOf } from '../../verify/deliveries.ts';

// The data of a provider, said in the words of its facts. A provider can't change without its facts.

it('every fact has its source, and the day on which they were looked up if they were', () => {
  for (const [name, { facts }] of Object.entries(proofs)) {
    const { read, notFound, from, ...rest } = facts;
    if (read === undefined) expect(notFound, `${name}: nothing was looked up`).toBeUndefined();
    else expect(read, name).toMatch(/^20\d\d-\d\d-\d\d$/);
    const sources = [from, ...Object.values(rest).flatMap((fact) => (isSaid(fact) ? [fact.from] : []))];
    for (const source of sources) expect(source.length, `${name}: ${source}`).toBeGreaterThan(10);
  }
});

function isSaid(fact: unknown): fact is { from: string } {
  return typeof fact === 'object' && fact !== null && !Array.isArray(fact);
}

const KIB = 1024;
const LIMIT_KIB = 1024;

describe.each(names)('the data of %s', (name) => {
  const provider = providerOf(name);
  const fact = proofOf(name).facts;
  const { id, batch, handshakes = [], ack } = provider;
  const schemes = [provider.scheme, ...(provider.otherSchemes ?? [])];

  it('verifies what the sources say', () => {
    expect(schemes.map(signatureOf).join(' or ')).toBe(factOf(fact.signature));
    expect(schemes.map(coversOf).join(' or ')).toBe(factOf(fact.covers));
    expect(schemes.map(keyOf).join(' or ')).toBe(factOf(fact.key));
    expect([...new Set(schemes.map(windowOf))].join(' or ')).toBe(factOf(fact.window ?? 'none'));
  });

  it('claims what the sources say', () => {
    expect(placeholdersIn(id.at)).toBe(factOf(fact.id));
    expect(id.signed).toBe(factOf(fact.isIdSigned));
    expect(replayKeyOf(provider)).toBe(factOf(fact.replayKey ?? (id.signed ? 'none' : 'the body')));
    expect(placeholdersIn(provider.type)).toBe(factOf(fact.type));
    expect(timesOf(provider)).toBe(factOf(fact.time ?? 'none'));
    expect(batch ? batch.each.join(' ') + (batch.lines ? ' or lines' : '') : 'none').toBe(factOf(fact.batch ?? 'none'));
  });

  it('answers what the sources say', () => {
    expect(handshakes.map(handshakeOf).join(', ') || 'none').toBe(factOf(fact.handshake ?? 'none'));
    const answer = ack ? `${ack.status} ${ack.text ?? 'empty'}` : 'any';
    expect(answer).toBe(factOf(fact.answer ?? 'any'));
  });

  it('remembers ids for as long as the provider retries', () => {
    const hours = factOf(fact.retries) ?? 0;
    expect(provider.retriesForDays).toBe(hours >= 24 ? Math.ceil(hours / 24) : undefined);
  });

  it('takes the largest body that the provider sends, or says why not', () => {
    const largest = factOf(fact.largest ?? null) ?? 0;
    const limit = (provider.maxBytes ?? LIMIT_KIB * KIB) / KIB;
    if (fact.whyLower === undefined) expect(limit).toBeGreaterThanOrEqual(largest);
    else expect([limit, limit < largest]).toEqual([5 * KIB, true]);
  });
});

function signatureOf(scheme: Scheme): string {
  if (scheme.token !== undefined) {
    return `${scheme.basic ? 'basic' : 'token'} at ${scheme.token}${scheme.perItem ? ', per item' : ''}`;
  }
  if (scheme.check !== undefined) {
    return `${scheme.kind === 'jose' ? `${scheme.algorithm} JWS` : 'rsa-sha256 base64'} at ${scheme.signature}`;
  }
  const places = signaturePlaces(scheme);
  const where = places.length > 1 ? `${places[0]} … ${places.at(-1)}` : places[0];
  return `${scheme.algorithm ?? 'hmac-sha256'} ${scheme.encoding} at ${where}${scheme.perItem ? ', per item' : ''}`;
}

function coversOf(scheme: Scheme): string {
  if (scheme.token !== undefined) return 'nothing';
  if (scheme.check !== undefined) {
    const { claims = [] } = scheme;
    const demanded = claims.map(
      ({ at, is, like }) =>
        [at].flat().map(fieldOf).join(' or ') + (is ? ` = ${is}` : '') + (like ? ` like ${like.source}` : ''),
    );
    return [coveredBy(scheme), ...demanded].join('; ');
  }
  const text = typeof scheme.signed === 'string' ? scheme.signed : scheme.signed.words;
  return scheme.bodyHash ? `${text}, or ${scheme.bodyHash}` : text;
}

function coveredBy(scheme: Jose | CertificateScheme): string {
  if (scheme.kind === 'certificate') return scheme.signed.map(({ text }) => text).join(' / ');
  const { isEvent, bodyHash } = scheme;
  return isEvent ? 'the event' : bodyHash ? `the body, by ${fieldOf(bodyHash)}` : 'nothing';
}

function keyOf(scheme: Scheme): string {
  if (scheme.token !== undefined) return 'the token';
  if (scheme.check !== undefined) {
    if (scheme.kind === 'certificate') return `certificate of ${scheme.certificate}, from ${scheme.from.join(' or ')}`;
    const { keys } = scheme;
    if ('secret' in keys) return 'text';
    if ('x5c' in keys)
      return `chain of ${keys.x5c.leafExtension} and ${keys.x5c.issuerExtension} to ${keys.x5c.roots.map(fingerprintOf)}`;
    return 'jwks' in keys ? `JWKS at ${keys.jwks}` : `by its id from ${keys.post}`;
  }
  const form = scheme.key === 'utf8' ? 'text' : scheme.key;
  return scheme.keyPrefix ? `${form} after ${scheme.keyPrefix}` : form;
}

function fingerprintOf(base64: string): string {
  return createHash('sha256').update(Buffer.from(base64, 'base64')).digest('hex');
}

function windowOf(scheme: Scheme): string {
  if (scheme.token !== undefined || !scheme.timestamp) return 'none';
  return `${scheme.timestamp.windowSeconds} s, in ${scheme.timestamp.unit}`;
}

function placeholdersIn(templates: Template | readonly Template[]): string {
  return [templates].flat().map(fieldsIn).join(' / ');
}

/** The names of the fields in a template. Of Meta's long paths, only the end tells them apart. */
function fieldsIn(template: Template): string {
  const fields = Array.from(template.matchAll(/\{([^}]+)\}/g), ([, place = '']) => fieldOf(place));
  return fields.length > 0 ? fields.join(' + ') : template;
}

function fieldOf(place: string): string {
  if (place === 'sha256') return 'content';
  if (place === 'random') return 'every delivery';
  const [, kind = '', path = ''] = /^([^:]+):(.*)$/.exec(place) ?? [];
  const field = path
    .replace(/^entry\.0\.(messaging|standby)\.0\.message\./, 'message.')
    .replace(META, '')
    .replace(/^.*#/, '')
    .replaceAll('.0', '');
  return `${field}${kind === 'json?' ? '?' : ''}${kind === 'signed-header' ? ' if signed' : ''}`;
}

const META = /^entry\.0\.(changes\.0\.value\.|(?=changes\.0\.field|messaging|standby))/;

function replayKeyOf({ id }: Provider): string {
  const { bodiesRepeat, replayKey } = id;
  if (bodiesRepeat === true) return 'none';
  const key = replayKey ? placeholdersIn(replayKey) : id.signed ? 'none' : 'the body';
  return bodiesRepeat ? `${key}, unless ${bodiesRepeat.map(conditionsOf).join(', or ')}` : key;
}

function conditionsOf(conditions: readonly Condition[]): string {
  return conditions
    .map(({ at, is, like }) => `${fieldOf(at)}${is ? ` is ${is}` : ''}${like ? ` like ${like.source}` : ''}`)
    .join(' and ');
}

function timesOf({ occurredAt = [] }: Provider): string {
  const times = [occurredAt].flat().map(({ at, unit }) => `${[at].flat().map(fieldOf).join(' / ')} (${unit})`);
  return times.join(' / ') || 'none';
}

function handshakeOf({ method, signed, reply }: Handshake): string {
  return `${method} ${signed ? 'signed' : 'unsigned'} → ${reply.status}`;
}
