import { readArguments } from '../cli/lib/arguments.ts';
import { UserError } from '../cli/lib/user-error.ts';
import { type Provider, providers } from '../src/providers/index.ts';
import { type Check, checksOf } from '../test/receiver/providers/checks.ts';

interface Reason {
  /** Matches `provider path: change`. */
  readonly pattern: RegExp;
  readonly holds?: (id: Provider['id']) => boolean;
  readonly why: string;
}

/** Reasons why a change may go unnoticed. The first that matches is printed. */
const REASONS: readonly Reason[] = [
  {
    pattern: / retriesForDays:/,
    why: 'no delivery shows it. Its facts contain it, and npm run check compares it with DEDUPE_DAYS',
  },
  { pattern: / secretPrefix:/, why: 'no delivery shows it, because only the commands that read a secret use it' },
  {
    pattern: / scheme\.settings\./,
    why: 'it only detects a mistake in a secret, which jose.test.ts tests',
  },
  { pattern: / scheme\.keys\.(x5c|keyOf)/, why: "apple.test.ts tests this data with Apple's own chain" },
  { pattern: / scheme\.claims\S*: before/, why: 'only one of the places holds a text' },
  { pattern: / scheme\.keys\.secret: true/, why: 'TypeScript refuses it' },
  { pattern: /^aws-sns scheme\.signed\.\d\.when/, why: 'SNS sends these three types, and signs each' },
  { pattern: /: body:text-other$/, why: 'a delivery has one body' },
  { pattern: / id\.signed:/, holds: isInBody, why: 'the id is in the body, so equal bodies have equal ids anyway' },
  {
    pattern: / id\.signed:/,
    holds: (id) => id.bodiesRepeat === true,
    why: 'the body is not a replay key anyway, because bodies repeat',
  },
  { pattern: /^(mailgun|twilio|zendesk) id\.signed:/, why: 'every delivery has the replay key that is named' },
  {
    pattern: / (id\.at|id\.replayKey|type)\S*: \{json\?:|^(mailgun|adyen|aws-sns) scheme\.signed\S*: \{json\??:/,
    why: 'it matters only for an event that lacks this field, and none is known',
  },
  {
    pattern:
      /^(auth0|aws-sns|coinbase-cdp|gitlab|google-pubsub|hubspot-v3|meta|microsoft-graph|postmark|shopify|stripe|telegram|twilio) \S+: before/,
    why: 'the order matters only for an event that has both with different values, and none is known',
  },
  {
    pattern: /^contentful id\.replayKey\.1: without \{json:/,
    why: "the body's hash is in the same key",
  },
];

function isInBody({ at }: Provider['id']): boolean {
  return [at].flat().every((template) => !/\{(header|signed-header|query|random)/.test(template));
}

interface Change {
  /** The place in the data, and the change. */
  readonly what: string;
  readonly value: unknown;
}

/**
 * Changes each field of each provider's data once and runs the checks of its proof on the changed data. Lists unnoticed
 * changes. Words after the command choose providers.
 */
export default async function main(): Promise<void> {
  const { positionals } = readArguments({ words: Number.POSITIVE_INFINITY });
  const chosen = Object.entries(providers).filter(([name]) => positionals.length === 0 || positionals.includes(name));
  // Replaces Postgres, as if it were down.
  globalThis.fetch = async () => {
    throw new TypeError('fetch failed');
  };
  const started = performance.now();
  let count = 0;
  const survivors: { readonly what: string; readonly why: string | undefined }[] = [];
  for (const [name, data] of chosen) {
    const checks = checksOf(name);
    for (const { what, run } of checks) {
      await run(data).catch((error) => {
        throw new UserError(`${name}: "${what}" fails without a change: ${error.message}`);
      });
    }
    for (const { what, value } of changesOf(data)) {
      count++;
      if (await isNoticed(checks, value as Provider)) continue;
      const survivor = `${name} ${what}`;
      const reason = REASONS.find(({ pattern, holds }) => pattern.test(survivor) && (holds?.(data.id) ?? true));
      survivors.push({ what: survivor, why: reason?.why });
    }
  }
  for (const [why = 'NO REASON', some] of Map.groupBy(survivors, (survivor) => survivor.why)) {
    console.log(`${why} (${some.length}):`);
    for (const { what } of some) console.log(`  ${what}`);
  }
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log(`${count} changes, ${count - survivors.length} noticed, ${survivors.length} not (${seconds} s)`);
  const unexplained = survivors.filter(({ why }) => why === undefined).length;
  if (unexplained > 0)
    throw new UserError(`${unexplained} changes go unnoticed without a reason: add a pair or a vector`);
}

async function isNoticed(checks: readonly Check[], data: Provider): Promise<boolean> {
  for (const { run } of checks) {
    try {
      await run(data);
    } catch {
      return true;
    }
  }
  return false;
}

/** Required properties, whose absence TypeScript reports. */
const REQUIRED =
  /^(scheme|id|type|at|unit|windowSeconds|each|list|elementIds|itemIds|signature|encoding|key|signed|token|custom|method|when|reply|status)$/;

/**
 * Lists whose order matters, because their first usable entry is used. All conditions must hold, and any signature may
 * match.
 */
const ORDERED = /^(at|type|replayKey|occurredAt|each)$/;

/** Texts for people. */
const WORDS = /^(name|docs|words|kind)$/;

const VALUES: Readonly<Record<string, readonly string[]>> = {
  unit: ['s', 'ms', 'iso'],
  encoding: ['hex', 'base64'],
  key: ['utf8', 'hex', 'base64'],
  algorithm: ['hmac-sha256', 'hmac-sha1', 'hmac-sha512', 'ed25519', 'ecdsa-p256-der'],
  method: ['GET', 'POST'],
};

/** Yields the value with each part changed once. */
function* changesOf(value: unknown, key = ''): Generator<Change> {
  if (typeof value === 'boolean') yield { what: `: ${value} → ${!value}`, value: !value };
  else if (typeof value === 'string') yield* changesOfText(value, key);
  else if (typeof value === 'number') {
    for (const by of key === 'status' ? [value === 200 ? 4 : -4] : [1, -1]) {
      yield { what: `: ${value} → ${value + by}`, value: value + by };
    }
  } else if (value instanceof RegExp) yield { what: `: ${value} → anything`, value: /^/ };
  else if (Array.isArray(value)) {
    for (const [n, item] of value.entries()) {
      if (value.length > 1) yield { what: `.${n}: left out`, value: value.toSpliced(n, 1) };
      if (n > 0 && ORDERED.test(key))
        yield { what: `.${n}: before .${n - 1}`, value: value.toSpliced(n - 1, 2, item, value[n - 1]) };
      for (const change of changesOf(item, key)) {
        yield { what: `.${n}${change.what}`, value: value.with(n, change.value) };
      }
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, part] of Object.entries(value)) {
      if (WORDS.test(name)) continue;
      const { [name]: _, ...rest } = { ...value } as Record<string, unknown>;
      const path = key === '' ? name : `.${name}`;
      if (!REQUIRED.test(name) && part !== true) yield { what: `${path}: left out`, value: rest };
      for (const change of changesOf(part, name))
        yield { what: path + change.what, value: { ...value, [name]: change.value } };
    }
  }
}

function* changesOfText(text: string, key: string): Generator<Change> {
  const values = VALUES[key]?.includes(text) ? VALUES[key] : undefined;
  for (const other of values ?? []) if (other !== text) yield { what: `: ${other}`, value: other };
  if (values) return;
  const placeholders = [...text.matchAll(/\{([^}]*)\}/g)];
  if (placeholders.length === 0) yield { what: `: ${text}-other`, value: `${text}-other` };
  for (const { 0: placeholder, 1: inside = '', index } of placeholders) {
    const instead = (other: string) => text.slice(0, index) + other + text.slice(index + placeholder.length);
    if (placeholders.length > 1) yield { what: `: without ${placeholder}`, value: instead('') };
    const toggled = inside.startsWith('json?') ? inside.replace('?', '') : inside.replace(/^json:/, 'json?:');
    if (placeholders.length > 1 && toggled !== inside) yield { what: `: {${toggled}}`, value: instead(`{${toggled}}`) };
    if (inside.includes(':')) yield { what: `: {${inside}-other}`, value: instead(`{${inside}-other}`) };
  }
}
