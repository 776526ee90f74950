/**
 * What a provider's own pages, SDKs and servers say, apart from the data in src/providers: written from the sources, so
 * that a mistake in the data shows. engine/test/receiver/providers/facts.test.ts compares the two. A field that is
 * written like a place or a template means the same as in engine/src/providers/types.ts.
 */
export interface Facts {
  /** The day on which each fact was looked up in its source. Absent: all rest on an earlier reading, made by somebody else. */
  readonly read?: string;
  /** The facts that were not found on that day. They rest on the earlier reading. */
  readonly notFound?: readonly (keyof typeof wordsOf)[];
  /** The source of every fact that doesn't name its own, by repository and path or by page. */
  readonly from: string;
  /** Algorithm, encoding and place: `hmac-sha256 hex at header:x`, or `token at …`, or `basic at …`. */
  readonly signature: Fact<string>;
  /** What is signed. */
  readonly covers: Fact<string>;
  readonly key: Fact<string>;
  /** The signed time: our window, and the unit. The reason is in `windowReason`. */
  readonly window?: Fact<string>;
  /** The fields of the id, in the order of preference: `a + b? / content`. Why they are unique and stable is in `same`. */
  readonly id: Fact<string>;
  readonly isIdSigned: Fact<boolean>;
  /** What may come only once although the id differs. Default: the body if the id is not signed, otherwise nothing. */
  readonly replayKey?: Fact<string>;
  readonly type: Fact<string>;
  readonly time?: Fact<string>;
  readonly batch?: Fact<string>;
  readonly handshake?: Fact<string>;
  /** What the provider wants to hear. Default: any 2xx, with any body. */
  readonly answer?: Fact<string>;
  /** Seconds until the provider gives an attempt up. `null`: not documented. */
  readonly limit: Fact<number | null>;
  /** Hours from the first attempt to the last automatic one. `null`: not documented. 0: it never retries. */
  readonly retries: Fact<number | null>;
  /** KiB of the largest body that is documented. `null`: not documented. */
  readonly largest?: Fact<number | null>;
  /** If our limit is lower. */
  readonly whyLower?: string;
  /** For operators: which answers end the retries, and what disables the webhook. */
  readonly ends: Fact<string>;
  /** For operators: deliveries that a person or an API call can ask for, as far as a source says so. */
  readonly byHand?: Fact<string>;
  /** For operators: what makes two deliveries the same event, and what doesn't. */
  readonly same: Fact<string>;
  /** What no source says for certain. */
  readonly open?: string;
}

/** The facts that may not have been found, in the words of docs/providers.md. */
export const wordsOf = {
  signature: 'signature',
  covers: 'what is signed',
  key: 'key',
  window: 'window',
  id: 'id',
  type: 'type',
  time: 'happened at',
  batch: 'several events',
  handshake: 'handshake',
  answer: 'answer',
  limit: 'time limit',
  retries: 'how long it retries',
  largest: 'largest body',
  ends: 'what ends the retries',
  byHand: 'again by hand',
} as const;

/** The value alone, or with a source of its own. */
export type Fact<Value> = Value | { readonly value: Value; readonly from: string };

export function factOf<Value extends string | number | boolean | null>(fact: Fact<Value>): Value {
  return typeof fact === 'object' && fact !== null ? fact.value : fact;
}

export function said<Value>(value: Value, from: string) {
  return { value, from };
}
