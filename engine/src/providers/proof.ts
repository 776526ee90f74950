import type { Reply } from './types.ts';

/** What makers know about a provider besides its data, and what shows that the data is right. */
export interface Proof {
  /** The package that judges our signatures on every test run (engine/test/receiver/providers/oracles.ts calls it). */
  readonly sdk?: SdkProof;
  /** Nobody has documented the sender: the data is a guess, so it doesn't count as a known provider. */
  readonly assumed?: true;
  readonly facts: Facts;
  readonly pairs: Pairs;
  readonly handshakes?: readonly HandshakeExample[];
  /** The answer for an event. Default: 200 with our JSON. */
  readonly ack?: Reply;
  readonly accepts?: {
    /** A delivery that was signed this long ago, or that is signed this far in the future, and no longer. Default: 300 s. */
    readonly seconds?: number;
    /** A body of this size, and no larger. Default: 1 MiB. */
    readonly bytes?: number;
  };
  /** Absent: a vector of another provider is `alsoFor` this one. */
  readonly vectors?: readonly Vector[];
  /** The largest batch that the provider documents. */
  readonly largestBatch?: { readonly what: string; readonly events: number; readonly make: () => string };
}

export interface SdkProof {
  /** The package, as pinned in engine/workshop/package.json. */
  readonly sdk: string;
  /** Whether the package can also sign for us. One that only has the public key can't. */
  readonly signs: boolean;
  /** A widely used package that is neither the provider's own nor that of the standard which the provider follows. */
  readonly by?: 'others';
}

/** A delivery that is known to be signed right. */
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
  /** The time of the receiver's clock. Absent: the scheme signs no time. */
  readonly nowSeconds?: number;
}

/**
 * What a provider's own pages, SDKs and servers say, written from the sources and apart from the data, so that a mistake in the
 * data shows. engine/test/receiver/providers/facts.test.ts compares the two. A field that is written like a place or a
 * template means the same as in types.ts.
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
  /** For operators: limits of this provider that are worth knowing. */
  readonly limits?: readonly string[];
  /** What no source says for certain. */
  readonly open?: string;
}

/**
 * Two deliveries of each provider that must be two events, and two that must be one: as alike, and as different, as its
 * documentation allows. The bodies are examples of the named source, shortened to what tells events apart.
 */
export interface Pairs {
  /** Where the example is from. */
  readonly source: string;
  readonly type?: string;
  readonly body: Body;
  readonly events: readonly ClaimedEvent[];
  readonly apart: Readonly<Record<string, Pair>>;
  /** Beside a retry of the same body, which each provider has, signed with a new time if it signs one. */
  readonly same?: Readonly<Record<string, Pair>>;
}

/** Some providers sign a time inside the body. A text is sent as it is. */
export type Body = object | string | ((now: Date) => object);

/**
 * What is claimed of a delivery: id, type and time. In an id, `content` stands for the SHA-256 of the event's JSON, and
 * `random` for a random id.
 */
export type ClaimedEvent = readonly [id: string, type: string | null, time: string | null];

/** What the second delivery has instead: the header's id, the header's type, unsigned headers, values by their path. */
export interface Change {
  readonly id?: string;
  readonly type?: string;
  /** Set after signing. `null` leaves one out. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly values?: Readonly<Record<string, unknown>>;
  /** It is not signed again: somebody has captured the first delivery and changed its values and headers. */
  readonly captured?: true;
  /** What becomes of the second delivery, if it is neither a new event nor a duplicate. */
  readonly outcome?: 'parked' | 'accepted';
}

/** Another example, for both deliveries. */
export interface OtherExample {
  readonly body: Body;
  /** The first delivery's. */
  readonly events: readonly ClaimedEvent[];
  /** The JSON that is stored for each event, where that is not simply the event. */
  readonly stored?: readonly object[];
  readonly both?: {
    readonly type?: string;
    /** `{secret}` is the source's. `null` leaves one out after signing. */
    readonly headers?: Readonly<Record<string, string | null>>;
    /** Of the URL. `{sha256}` is the hash of the body. */
    readonly query?: string;
  };
}

export type Pair = Change & (OtherExample | { readonly body?: never });

/** A request that is no delivery. */
export interface HandshakeExample {
  /** With a query it is a GET, unless `method` says otherwise, and without one a POST. `{verifyToken}` is the configured one. */
  readonly query?: string;
  readonly method?: 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Signed like a delivery. Unsigned, and signed with another secret, it is refused. */
  readonly signed?: true;
  /** It hands over a secret, so only a source that awaits one answers. */
  readonly handsOver?: true;
  /** The URL that is called before the reply, so only a source that awaits a confirmation answers. */
  readonly calls?: string;
  /** With CHECK_SECRET as the source's secret. */
  readonly reply: Reply;
  /** A text of the request. With markup, or with a very long text, in its place, the request is not answered. */
  readonly limited?: string;
  /** With each second text in the place of the first one, it is no such request. */
  readonly unlike?: readonly (readonly [text: string, other: string])[];
}

/** The secret in the examples of handshakes. A source that awaits a secret needs one of at least 32 characters. */
export const CHECK_SECRET = 'thirty-two-characters-or-more-in-it';

/** The pair that every provider has. Nothing tells the retry of a poke from the next change, so a poke has another outcome. */
export const RETRY = 'a retry';

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
