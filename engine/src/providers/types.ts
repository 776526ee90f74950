import type { Bytes } from '../shared/bytes.ts';
import type { DeliveryValues } from '../verify/delivery.ts';
import type { Verdict } from '../verify/index.ts';

/**
 * Where a value is found in a delivery. Header names are lower-case.
 *   header:x      the whole header
 *   header:x#k    the values of key k in a list header, such as `k=1,k=2` (listReader in engine/src/verify/places.ts)
 *   signed-header:x   the whole header if this delivery's signature covers it (`signedHeaders` of `Custom`)
 *   json:a.b.0    a path in the body. When a body may be parsed: engine/src/verify/delivery.ts
 *   form:x        a field of a form-encoded body
 *   query:x       a parameter of the URL
 *   body:text     the whole body, for one that is nothing but a token
 *   jws:a.b       a path in the payload of the token, after the token is verified
 *   inner:a.b#c.d   a path (`c.d`) in the JSON that a text of the body (`a.b`) holds, as it is or as base64
 */
export type Place = `${'header' | 'signed-header' | 'json' | 'form' | 'query' | 'body' | 'jws' | 'inner'}:${string}`;

/**
 * Text with placeholders in braces, such as `{header:webhook-id}.{body}`. If one of its places holds no value, the
 * whole template can't be filled. Only `{json?:x}` is then empty instead. `defineProvider` checks every template.
 */
export type Template = string;

export type Placeholder =
  | Place
  | `json?:${string}`
  /** Of the delivery. */
  | 'body'
  | 'method'
  | 'url'
  /** The hash of the event's own JSON, for providers without an id. */
  | 'sha256'
  /** The CRC-32 of the body (`Certified`). */
  | 'crc32'
  /** For providers whose events can't be told apart at all: every delivery is then a new event. */
  | 'random'
  /** The value at the place, signed with the secret: for the reply to a handshake, if a `like` limits the value. */
  | `hmac-hex:${Place}`;

export interface Delivery {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

export type Algorithm = 'hmac-sha256' | 'hmac-sha384' | 'hmac-sha512' | 'hmac-sha1' | 'ed25519' | 'ecdsa-p256-der';

/** A time that is part of the signed text. It may differ from ours by the window in both directions. */
export interface Timestamp {
  readonly at: Place;
  /** `iso`: RFC 3339 with a zone, and any number of digits of a second. */
  readonly unit: 's' | 'ms' | 'iso';
  readonly windowSeconds: number;
}

export interface Signature {
  /** Only a `Token` has one, and only a scheme with its own code has a `check`: this tells the kinds of scheme apart. */
  readonly token?: never;
  readonly check?: never;
  /** Default: HMAC-SHA256. */
  readonly algorithm?: Algorithm;
  /** If several signatures are found here, one that matches is enough. */
  readonly signature: Place | readonly Place[];
  readonly encoding: 'hex' | 'base64';
  /**
   * How the secret becomes key bytes. Never guessed from a prefix: `whsec_` means one thing for Stripe, another for
   * Svix.
   */
  readonly key: 'utf8' | 'base64' | 'hex';
  /** Removed before decoding. A shared secret may be configured without it; a public key without it is refused. */
  readonly keyPrefix?: string;
  /** `{body}` stands for the raw bytes, which are never decoded for this. */
  readonly signed: Template | Custom;
  readonly timestamp?: Timestamp;
  /** The URL may contain the hex SHA-256 of the body. Then the URL is signed, and not the body. */
  readonly bodyHash?: Place;
  /** Each item of the batch has a signature of its own, and is verified alone. */
  readonly perItem?: true;
}

/** For signed texts that no template can describe. Everything else about the scheme is still data. */
export interface Custom {
  /** All texts that the sender may have signed. `textAt` gives the only text at a place, as templates read it. */
  readonly custom: (delivery: Delivery, textAt: (place: Place) => string | undefined) => Bytes[];
  /** The names of the signed headers, in lower case, if each delivery lists its own. `signed-header:` places need it. */
  readonly signedHeaders?: (delivery: Delivery) => readonly string[];
  /** For docs/providers.md. */
  readonly words: string;
}

/** A shared token instead of a signature. It proves who sent the delivery, and nothing about its content. */
export interface Token {
  readonly token: Place;
  readonly check?: never;
  /** The secret is `user:password`, sent with HTTP Basic authentication. */
  readonly basic?: true;
  /** Each item of the batch holds the token, and every one must be right. */
  readonly perItem?: true;
}

/** What the code of a scheme is given: the delivery, and the texts at the scheme's places. */
export interface ToCheck {
  readonly delivery: DeliveryValues;
  readonly candidates: readonly string[];
  readonly secrets: readonly string[];
  readonly now: Date;
}

/**
 * A scheme that brings its own code, because few providers need it: only the bundles of sources that use such a provider
 * contain it. A function makes it from data, such as `jose({ … })`.
 */
interface WithCode {
  readonly token?: never;
  readonly perItem?: never;
  readonly signature: Place;
  readonly timestamp?: Timestamp;
  /**
   * The secret is configuration: these words, separated by spaces. Each must match its pattern. Behind them may be `key:` and
   * a public key (SPKI, base64url). It replaces the keys that are fetched: `npm run dev` and the tests can sign with it.
   */
  readonly settings?: Readonly<Record<string, RegExp>>;
  /** Given the scheme itself, so that what it does depends on the data alone. */
  check(scheme: WithCode, toCheck: ToCheck): Promise<Verdict>;
}

/** A JSON Web Signature (RFC 7515): a token about the delivery, or the event itself. */
export interface Jose extends WithCode {
  readonly kind: 'jose';
  /** Before the token: `Bearer `. */
  readonly prefix?: string;
  /** The only one that is accepted. The token's own header is never asked. */
  readonly algorithm: 'RS256' | 'ES256' | 'HS256';
  /** Where the key is. An HS256 key is the secret itself. */
  readonly keys:
    | { readonly secret: true }
    /** A JSON Web Key Set. `{x}` in a URL is a word of the secret. */
    | { readonly jwks: string }
    /** One key, asked for with its id: `{kid}` in the body. `at` is the path of the key in the answer. */
    | { readonly post: string; readonly body: Readonly<Record<string, string>>; readonly at: string }
    | KeyInToken;
  /** Each must hold. Checked before a key is fetched, so that a token for somebody else causes no call. */
  readonly claims?: readonly Claim[];
  /** The claim with the hex SHA-256 of the body. */
  readonly bodyHash?: Place;
  /** The payload is the event: it is stored in place of the body, and `json:` places read it. */
  readonly isEvent?: true;
}

/** There is a text at the place, it is this one, and it matches the pattern. */
/** A chain of three certificates with ECDSA keys: a leaf, its issuer, and a root that is pinned here. */
export interface X5c {
  /** DER, in base64. */
  readonly roots: readonly string[];
  /** What leaf and issuer must be made for: the object identifier of an extension, as the hex of its DER content. */
  readonly leafExtension: string;
  readonly issuerExtension: string;
}

/** Made by `x5c({ … })`, so that only the bundles of such providers contain its code. */
export interface KeyInToken {
  readonly x5c: X5c;
  readonly keyOf: (x5c: X5c, header: unknown, now: Date) => Promise<CryptoKey | undefined>;
}

export interface Claim {
  /** Of several, there is a text at only one. */
  readonly at: Place | readonly Place[];
  /** `{x}` is a word of the secret. */
  readonly is?: string;
  readonly like?: RegExp;
  /** Or there is no text at the place. */
  readonly optional?: true;
}

/** RSA-SHA256 in base64, with the key of a certificate whose address the delivery names. */
export interface Certified extends WithCode {
  readonly kind: 'certificate';
  /** Where the address is. */
  readonly certificate: Place;
  /** What the address must be: host and path, where `*` is a name, and `{x}` a word of the secret. */
  readonly from: readonly string[];
  /** Each must hold, before a certificate is fetched. */
  readonly claims?: readonly Claim[];
  /**
   * The signed text: the first whose conditions hold. `{x}` is a word of the secret, and `{crc32}` the checksum of the body, as
   * a decimal number.
   */
  readonly signed: readonly { readonly when?: readonly Condition[]; readonly text: Template }[];
}

export type Scheme = Signature | Token | Jose | Certified;

/** There is a text at the place, it is this one, and it matches the pattern. */
export interface Condition {
  readonly at: Place;
  readonly is?: string;
  readonly like?: RegExp;
}

export interface Handshake {
  readonly method: 'GET' | 'POST';
  /**
   * All conditions must hold. `like` also limits what is echoed, so that nobody can make our URL answer with markup.
   */
  readonly when: readonly Condition[];
  /**
   * The signature must verify first. A handshake without this is unsigned, and a request with a signature is then a
   * delivery.
   */
  readonly signed?: true;
  /** The value here must equal `<SOURCE>_VERIFY_TOKEN`. */
  readonly verifyToken?: Place;
  /** The provider sends the signing secret here, unsigned. Answered only while the source says `awaitsSecret`. */
  readonly handsOver?: Place;
  /**
   * The URL here is called, which confirms our address (AWS SNS). Only if it is signed, a `like` limits its host, and the source
   * says `awaitsConfirmation`.
   */
  readonly calls?: Place;
  readonly reply: Reply;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, Template>>;
  readonly text?: Template;
  readonly json?: Readonly<Record<string, Template>>;
}

export interface Batch {
  /**
   * Paths to the items, with `*` for every element of a list. An element that several paths lead to belongs to the
   * first.
   */
  readonly each: readonly string[];
  /** For items that say too little alone: each item is kept inside a copy of the body that contains no other item. */
  readonly envelope?: Envelope;
  /** The body may be JSON Lines: one item on each line. */
  readonly lines?: true;
}

/** Beside the items there may be a list whose elements belong to single items. A copy keeps only the item's own. */
export interface Envelope {
  readonly list: string;
  /** An element belongs to an item if one of these properties … */
  readonly elementIds: readonly string[];
  /** … equals one of these properties of the item. */
  readonly itemIds: readonly string[];
}

/** When the event happened. A time without a zone is in UTC. */
export interface Time {
  readonly at: Place | readonly Place[];
  readonly unit: 's' | 'ms' | 'iso';
}

/** What a provider's file contains. */
export interface ProviderData {
  readonly name: string;
  /** The official page with these facts or, if there is none, a sentence. */
  readonly docs: string;
  readonly scheme: Scheme;
  /**
   * Every secret that the provider gives out begins with this, and it is a part of the key (`keyPrefix` is not). Only the commands
   * that take a secret look at it, so that no other text of the provider's is taken for it.
   */
  readonly secretPrefix?: string;
  /** Other schemes that this provider's deliveries may use. The configured secret decides which one applies. */
  readonly otherSchemes?: readonly Scheme[];
  /** The body contains several events, and each is claimed on its own. */
  readonly batch?: Batch;
  /** The body may be a form. It is then stored as a JSON object of its fields. */
  readonly form?: true;
  readonly id: {
    /** The first template that can be filled with a usable id is used. If there is none, the event's hash is its id. */
    readonly at: Template | readonly Template[];
    /** Is the id part of the signed text? If not, somebody could send a captured body again under a new id. */
    readonly signed: boolean;
    /**
     * Two real events may have the same body, so the body can't be the replay key. For some types only: an event must
     * meet all conditions of one list. If the header with the type isn't signed, the body must show the type as well, or
     * any captured body could be sent again as an event of that type.
     */
    readonly bodiesRepeat?: true | readonly (readonly Condition[])[];
    /**
     * The replay key: an event with a new id but a known replay key is suspected to be a replay. Without this it is the
     * body, if the id is not signed. The first template that can be filled is used. If the id is signed, only the
     * signature itself makes sense here: for providers whose signed text could be split into other fields (Adyen,
     * Twilio).
     */
    readonly replayKey?: Template | readonly Template[];
    /**
     * A retry may have another replay key under the same id. Without this, an event whose id isn't signed is another one
     * than that which has its id if their replay keys differ, because somebody may have sent a captured body under that id.
     */
    readonly retriesDiffer?: true;
  };
  /** The first template that can be filled is used. */
  readonly type: readonly Template[];
  /** The first place whose value is a time in its unit is used. */
  readonly occurredAt?: Time | readonly Time[];
  readonly handshakes?: readonly Handshake[];
  /** The answer for an event that is held, if the provider doesn't accept 200 with our JSON. */
  readonly ack?: Reply;
  /** The largest body that is accepted. Default: 1 MiB. */
  readonly maxBytes?: number;
  /** Days until the provider stops retrying. `DEDUPE_DAYS` must be longer, so that no retry becomes a new event. */
  readonly retriesForDays?: number;
}

declare const madeByDefineProvider: unique symbol;

/**
 * Provider data whose templates have been checked. Only `defineProvider` makes one.
 *
 * @example
 * const windowOf = ({ name, retriesForDays = 0 }: Provider) => `${name} retries for ${retriesForDays} days`;
 */
export interface Provider extends ProviderData {
  readonly [madeByDefineProvider]: true;
}
