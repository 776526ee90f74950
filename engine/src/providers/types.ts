import type { Bytes } from '../shared/bytes.ts';
import type { DeliveryValues } from '../verify/delivery.ts';
import type { Verdict } from '../verify/index.ts';

/**
 * The location of a value in a delivery. Header names are lower-case.
 *   header:x      the whole header
 *   header:x#k    the values of key k in a list header, such as `k=1,k=2` (listReader in verify/places.ts)
 *   signed-header:x   the whole header if this delivery's signature covers it (`signedHeaders` of `Custom`)
 *   json:a.b.0    a path in the body. verify/delivery.ts says when a body may be parsed
 *   form:x        a field of a form-encoded body
 *   query:x       a parameter of the URL
 *   body:text     the whole body, if it is only a token
 *   jws:a.b       a path in the payload of the token, after the token is verified
 *   inner:a.b#c.d   a path (`c.d`) in the JSON that a text of the body (`a.b`) contains, plain or as base64
 */
export type Place = `${'header' | 'signed-header' | 'json' | 'form' | 'query' | 'body' | 'jws' | 'inner'}:${string}`;

/**
 * Text with placeholders in braces, such as `{header:webhook-id}.{body}`. If a place holds no value, the template can't
 * be filled, except that `{json?:x}` becomes an empty text. `defineProvider` checks every template.
 */
export type Template = string;

export type Placeholder =
  | Place
  | `json?:${string}`
  /** Properties of the delivery. */
  | 'body'
  | 'method'
  | 'url'
  /** The hash of the event's JSON, for providers without an id. */
  | 'sha256'
  /** The CRC-32 of the body (`CertificateScheme`). */
  | 'crc32'
  /** For providers whose events can't be distinguished, so that every delivery counts as a new event. */
  | 'random'
  /**
   * The value at the place, signed with the secret. Only for the reply to a handshake, and only if a `like` limits the value.
   */
  | `hmac-hex:${Place}`;

export interface Delivery {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

export type Algorithm = 'hmac-sha256' | 'hmac-sha384' | 'hmac-sha512' | 'hmac-sha1' | 'ed25519' | 'ecdsa-p256-der';

/** A time that is part of the signed text. It may differ from our clock by `windowSeconds` in both directions. */
export interface Timestamp {
  readonly at: Place;
  /** `iso`: RFC 3339 with a zone and any number of fractional digits. */
  readonly unit: 's' | 'ms' | 'iso';
  readonly windowSeconds: number;
}

export interface Signature {
  /**
   * Only a `Token` has a `token`, and only a scheme with its own code has a `check`. This distinguishes the kinds of scheme.
   */
  readonly token?: never;
  readonly check?: never;
  /** Default: HMAC-SHA256. */
  readonly algorithm?: Algorithm;
  /** If several signatures are found here, one match is enough. */
  readonly signature: Place | readonly Place[];
  readonly encoding: 'hex' | 'base64';
  /**
   * How the secret becomes key bytes. A prefix can't decide this, because `whsec_` means different things for Stripe and Svix.
   */
  readonly key: 'utf8' | 'base64' | 'hex';
  /** Removed before decoding. A shared secret may be configured without it; a public key may not. */
  readonly keyPrefix?: string;
  /** `{body}` stands for the raw bytes, without decoding. */
  readonly signed: Template | Custom;
  readonly timestamp?: Timestamp;
  /** The URL may contain the hex SHA-256 of the body. In that case the URL is signed instead of the body. */
  readonly bodyHash?: Place;
  /** Each item of the batch has its own signature and is verified separately. */
  readonly perItem?: true;
}

/** For signed texts that a template can't describe. Everything else about the scheme is still data. */
export interface Custom {
  /** Returns all texts that the sender may have signed. `textAt` returns the single text at a place. */
  readonly custom: (delivery: Delivery, textAt: (place: Place) => string | undefined) => Bytes[];
  /** The names of the signed headers, in lower case, if each delivery lists its own. `signed-header:` places need it. */
  readonly signedHeaders?: (delivery: Delivery) => readonly string[];
  /** For docs/providers.md. */
  readonly words: string;
}

/** A shared token instead of a signature. It proves who sent the delivery, but doesn't protect its content. */
export interface Token {
  readonly token: Place;
  readonly check?: never;
  /** The secret is `user:password`, sent with HTTP Basic authentication. */
  readonly basic?: true;
  /** Each item of the batch contains the token, and every one must match. */
  readonly perItem?: true;
}

/** The arguments of a scheme's own code. `candidates` are the texts at the scheme's places. */
export interface ToCheck {
  readonly delivery: DeliveryValues;
  readonly candidates: readonly string[];
  readonly secrets: readonly string[];
  readonly now: Date;
}

/**
 * A scheme with its own code. Few providers need one, and only bundles with such a provider contain the code. A
 * function such as `jose({ … })` makes the scheme from data.
 */
interface WithCode {
  readonly token?: never;
  readonly perItem?: never;
  readonly signature: Place;
  readonly timestamp?: Timestamp;
  /**
   * The secret consists of these words, separated by spaces. Each must match its pattern. They may be followed by `key:` and a
   * public key (SPKI, base64url), which replaces the fetched keys so that `npm run dev` and the tests can sign.
   */
  readonly settings?: Readonly<Record<string, RegExp>>;
  /** Receives the scheme itself, so that its result depends only on the data. */
  check(scheme: WithCode, toCheck: ToCheck): Promise<Verdict>;
}

/** A JSON Web Signature (RFC 7515): a token about the delivery, or the event itself. */
export interface Jose extends WithCode {
  readonly kind: 'jose';
  /** The text before the token, such as `Bearer `. */
  readonly prefix?: string;
  /** The only accepted algorithm, whatever the token's own header says. */
  readonly algorithm: 'RS256' | 'ES256' | 'HS256';
  /** Where the key is. An HS256 key is the secret itself. */
  readonly keys:
    | { readonly secret: true }
    /** A JSON Web Key Set. `{x}` in a URL is a word of the secret. */
    | { readonly jwks: string }
    /** One key, requested by its id: `{kid}` in the body. `at` is the path of the key in the answer. */
    | { readonly post: string; readonly body: Readonly<Record<string, string>>; readonly at: string }
    | KeyInToken;
  /** All of them must hold. They are checked before a key is fetched, so that a token for somebody else causes no request. */
  readonly claims?: readonly Claim[];
  /** The claim with the hex SHA-256 of the body. */
  readonly bodyHash?: Place;
  /** The payload is the event. It is stored instead of the body, and `json:` places read it. */
  readonly isEvent?: true;
}

/** A chain of three certificates with ECDSA keys: a leaf, its issuer, and a root that is pinned here. */
export interface X5c {
  /** DER, in base64. */
  readonly roots: readonly string[];
  /** The extensions that leaf and issuer must have: object identifiers, as the hex of their DER content. */
  readonly leafExtension: string;
  readonly issuerExtension: string;
}

/** Made by `x5c({ … })`, so that only bundles with such a provider contain its code. */
export interface KeyInToken {
  readonly x5c: X5c;
  readonly keyOf: (x5c: X5c, header: unknown, now: Date) => Promise<CryptoKey | undefined>;
}

/** The place holds a text that equals `is` and matches `like`. */
export interface Claim {
  /** If this lists several places, exactly one must hold a text. */
  readonly at: Place | readonly Place[];
  /** `{x}` is a word of the secret. */
  readonly is?: string;
  readonly like?: RegExp;
  /** Whether the text may be missing. */
  readonly optional?: true;
}

/** An RSA-SHA256 signature in base64, verified with a certificate whose URL is in the delivery. */
export interface CertificateScheme extends WithCode {
  readonly kind: 'certificate';
  /** The place of the certificate's URL. */
  readonly certificate: Place;
  /** The allowed URLs. `*` stands for a name, and `{x}` for a word of the secret. */
  readonly from: readonly string[];
  /** All of them must hold. They are checked before a certificate is fetched. */
  readonly claims?: readonly Claim[];
  /**
   * The signed text. The first entry whose conditions hold is used. `{x}` is a word of the secret, and `{crc32}` the
   * checksum of the body as a decimal number.
   */
  readonly signed: readonly { readonly when?: readonly Condition[]; readonly text: Template }[];
}

export type Scheme = Signature | Token | Jose | CertificateScheme;

/** The place holds a text that equals `is` and matches `like`. */
export interface Condition {
  readonly at: Place;
  readonly is?: string;
  readonly like?: RegExp;
}

export interface Handshake {
  readonly method: 'GET' | 'POST';
  /** All conditions must hold. `like` also limits the echoed text, so that nobody can make our URL answer with markup. */
  readonly when: readonly Condition[];
  /** The signature must verify first. Without this, the handshake is unsigned, and a request with a signature is a delivery. */
  readonly signed?: true;
  /** The value here must equal `<SOURCE>_VERIFY_TOKEN`. */
  readonly verifyToken?: Place;
  /** The provider sends the signing secret here, unsigned. Answered only while the source has `awaitsSecret`. */
  readonly handsOver?: Place;
  /**
   * The URL here is called to confirm our address (AWS SNS). This requires a signed handshake, a `like` that limits the
   * host, and a source with `awaitsConfirmation`.
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
  /** Paths to the items, with `*` for every element of a list. If several paths lead to an element, the first one takes it. */
  readonly each: readonly string[];
  /** For items that need their context. Each item is stored inside a copy of the body that contains no other item. */
  readonly envelope?: Envelope;
  /** The body may be JSON Lines: one item on each line. */
  readonly lines?: true;
}

/** Describes a list next to the items whose elements belong to individual items. A copy keeps only the item's own elements. */
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
   * Every secret of this provider begins with this text, which is part of the key (`keyPrefix` is not). Only the
   * commands that read a secret check it, so that nobody pastes another text of the provider by mistake.
   */
  readonly secretPrefix?: string;
  /** Other schemes that this provider's deliveries may use. The configured secret decides which one applies. */
  readonly otherSchemes?: readonly Scheme[];
  /** The body contains several events, and each is claimed separately. */
  readonly batch?: Batch;
  /** The body may be a form. It is then stored as a JSON object of its fields. */
  readonly form?: true;
  readonly id: {
    /** The first template that gives a usable id is used. If none does, the event's hash is its id. */
    readonly at: Template | readonly Template[];
    /** Whether the id is part of the signed text. If it isn't, somebody could resend a captured body under a new id. */
    readonly signed: boolean;
    /**
     * Two real events may have the same body, so the body can't be the replay key. To limit this to some types, list
     * their conditions: an event must meet all conditions of one list. If the header with the type isn't signed, a
     * condition must check the body as well, or any captured body could be resent as an event of that type.
     */
    readonly bodiesRepeat?: true | readonly (readonly Condition[])[];
    /**
     * The replay key. An event with a new id but a known replay key is a suspected replay. The first template that can be
     * filled is used. Default: the body if the id is not signed, otherwise none. If the id is signed, only the signature itself
     * makes sense here, for providers whose signed text could be split into different fields (Adyen, Twilio).
     */
    readonly replayKey?: Template | readonly Template[];
    /**
     * A retry may have the same id with another replay key. Without this, two events with the same unsigned id but
     * different replay keys count as different events, because somebody may have sent a captured body under that id.
     */
    readonly retriesDiffer?: true;
  };
  /** The first template that can be filled is used. */
  readonly type: readonly Template[];
  /** The first place whose value is a time in its unit is used. */
  readonly occurredAt?: Time | readonly Time[];
  readonly handshakes?: readonly Handshake[];
  /** The answer for a stored event, if the provider doesn't accept 200 with our JSON. */
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
