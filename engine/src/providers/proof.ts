import type { Reply } from './types.ts';

/** Facts about a provider that are not part of its data, and evidence that the data is right. */
export interface Proof {
  /** The package that checks our signatures on every test run (engine/test/receiver/providers/oracles.ts calls it). */
  readonly sdk?: SdkProof;
  /** The sender is undocumented and the data is a guess, so it doesn't count as a known provider. */
  readonly assumed?: true;
  readonly facts: Facts;
  readonly pairs: Pairs;
  readonly handshakes?: readonly HandshakeExample[];
  /** The answer for an event. Default: 200 with our JSON. */
  readonly ack?: Reply;
  readonly accepts?: {
    /** The largest accepted difference between the signed time and our clock. Default: 300 s. */
    readonly seconds?: number;
    /** The largest accepted body. Default: 1 MiB. */
    readonly bytes?: number;
  };
  /** May be absent if a vector of another provider is `alsoFor` this one. */
  readonly vectors?: readonly Vector[];
  /** The largest batch that the provider documents. */
  readonly largestBatch?: { readonly what: string; readonly events: number; readonly make: () => string };
}

export interface SdkProof {
  /** The package, as pinned in engine/workshop/package.json. */
  readonly sdk: string;
  /** Whether the package can also sign. A package that only has the public key can't. */
  readonly signs: boolean;
  /** A widely used package that is neither the provider's own nor that of the standard which the provider follows. */
  readonly by?: 'others';
}

/** A delivery whose signature is known to be right. */
export interface Vector {
  readonly id: string;
  /**
   * Who signed it: `provider-docs`, `official-…-test`, `third-party-test`, `generated-with-official-sdk`,
   * `computed-then-accepted-by-official-sdk`, `accepted-by-others`, `own` (computed with another implementation than
   * ours), or `token`.
   */
  readonly origin: string;
  readonly source: string;
  readonly note?: string;
  /** Other providers with the same scheme, under their own header names. */
  readonly alsoFor?: readonly string[];
  readonly secret?: string;
  readonly publicKey?: string;
  readonly method?: string;
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The exact text. Its bytes in UTF-8 are signed. */
  readonly body: string;
  /** The time of the receiver's clock. Absent if the scheme signs no time. */
  readonly nowSeconds?: number;
}

/**
 * What a provider's own pages, SDKs and servers say. Written from these sources independently of the data, so that
 * engine/test/receiver/providers/facts.test.ts can find mistakes by comparing the two. Fields that look like places or
 * templates mean the same as in types.ts.
 */
export interface Facts {
  /**
   * The day on which each fact was looked up in its source. Absent if all facts rest on an earlier reading by somebody
   * else.
   */
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
  /** Our window for the signed time, and its unit. The reason is in `windowReason`. */
  readonly window?: Fact<string>;
  /** The fields of the id, in order of preference: `a + b? / content`. `same` says why they are unique and stable. */
  readonly id: Fact<string>;
  readonly isIdSigned: Fact<boolean>;
  /**
   * The value that may occur only once even if the id differs. Default: the body if the id is not signed, otherwise
   * none.
   */
  readonly replayKey?: Fact<string>;
  readonly type: Fact<string>;
  readonly time?: Fact<string>;
  readonly batch?: Fact<string>;
  readonly handshake?: Fact<string>;
  /** The answer that the provider expects. Default: any 2xx, with any body. */
  readonly answer?: Fact<string>;
  /** Seconds until the provider gives up an attempt. `null`: not documented. */
  readonly limit: Fact<number | null>;
  /** Hours from the first attempt to the last automatic one. `null`: not documented. 0: it never retries. */
  readonly retries: Fact<number | null>;
  /** The largest documented body in KiB. `null`: not documented. */
  readonly largest?: Fact<number | null>;
  /** The reason, if our limit is lower. */
  readonly whyLower?: string;
  /** For operators: which answers end the retries, and what disables the webhook. */
  readonly ends: Fact<string>;
  /** For operators: how a person or an API call can request a delivery, if a source says so. */
  readonly byHand?: Fact<string>;
  /** For operators: what makes two deliveries the same event, and what doesn't. */
  readonly same: Fact<string>;
  /** For operators: limits of this provider that are worth knowing. */
  readonly limits?: readonly string[];
  /** What no source states clearly. */
  readonly open?: string;
}

/**
 * Pairs of deliveries that must be two events (as similar as the documentation allows), and pairs that must be one
 * event (as different as it allows). The bodies are the source's examples, shortened to the fields that distinguish
 * events.
 */
export interface Pairs {
  /** The source of the example. */
  readonly source: string;
  readonly type?: string;
  readonly body: Body;
  readonly events: readonly ClaimedEvent[];
  readonly apart: Readonly<Record<string, Pair>>;
  /**
   * In addition to `RETRY`, which every provider has: the same body, signed with a new time if the scheme signs one.
   */
  readonly same?: Readonly<Record<string, Pair>>;
}

/** A function, because some providers sign a time inside the body. A text is sent unchanged. */
export type Body = object | string | ((now: Date) => object);

/**
 * The expected id, type and time of a claimed event. In an id, `content` stands for the SHA-256 of the event's JSON,
 * and `random` for a random id.
 */
export type ClaimedEvent = readonly [id: string, type: string | null, time: string | null];

/**
 * What differs in the second delivery: the header's id, the header's type, unsigned headers, or values by their path.
 */
export interface Change {
  readonly id?: string;
  readonly type?: string;
  /** Set after signing. `null` removes a header. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly values?: Readonly<Record<string, unknown>>;
  /** The second delivery is not signed again, as if somebody had captured the first one and changed it. */
  readonly captured?: true;
  /** The outcome of the second delivery, if it is neither a new event nor a duplicate. */
  readonly outcome?: 'parked' | 'accepted';
}

/** Another example, for both deliveries. */
export interface OtherExample {
  readonly body: Body;
  /** The events of the first delivery. */
  readonly events: readonly ClaimedEvent[];
  /** The stored JSON of each event, if it differs from the event itself. */
  readonly stored?: readonly object[];
  readonly both?: {
    readonly type?: string;
    /** `{secret}` is the source's secret. `null` removes a header after signing. */
    readonly headers?: Readonly<Record<string, string | null>>;
    /** The query of the URL. `{sha256}` is the hash of the body. */
    readonly query?: string;
  };
}

export type Pair = Change & (OtherExample | { readonly body?: never });

/** A request that is not a delivery. */
export interface HandshakeExample {
  /**
   * A request with a query is a GET unless `method` says otherwise; without a query it is a POST. `{verifyToken}` is
   * the configured token.
   */
  readonly query?: string;
  readonly method?: 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Signed like a delivery. It must be refused without a signature or with another secret's. */
  readonly signed?: true;
  /** The request hands over a secret, so it is answered only if the source awaits one. */
  readonly handsOver?: true;
  /** The URL that is called before the reply. The request is answered only if the source awaits a confirmation. */
  readonly calls?: string;
  /** The expected reply if CHECK_SECRET is the source's secret. */
  readonly reply: Reply;
  /** A text of the request. If markup or a very long text replaces it, the request must not be answered. */
  readonly limited?: string;
  /** If `other` replaces `text`, the request is not this handshake. */
  readonly unlike?: readonly (readonly [text: string, other: string])[];
}

/** The secret in the examples of handshakes. A source that awaits a secret needs one of at least 32 characters. */
export const CHECK_SECRET = 'thirty-two-characters-or-more-in-it';

/**
 * The pair that every provider has. The retry of a poke can't be distinguished from the next change, so a poke has
 * another outcome.
 */
export const RETRY = 'a retry';

/** The facts that may not have been found, as docs/providers.md names them. */
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

/** A value, optionally with its own source. */
export type Fact<Value> = Value | { readonly value: Value; readonly from: string };

export function factOf<Value extends string | number | boolean | null>(fact: Fact<Value>): Value {
  return typeof fact === 'object' && fact !== null ? fact.value : fact;
}

export function said<Value>(value: Value, from: string) {
  return { value, from };
}
