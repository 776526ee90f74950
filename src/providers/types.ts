import type { Bytes } from '../encoding/bytes.ts';

/**
 * Where a value lives in a delivery. Header names are lower-case.
 *   header:x      the whole header
 *   header:x#k    key k of a list header, written k=v or k,v and separated by comma, semicolon or space
 *   json:a.b.0    a path in the body. When a body may be parsed: src/verify/delivery.ts
 *   form:x        a field of a form-encoded body
 *   query:x       a parameter of the URL
 */
export type Place = `header:${string}` | `json:${string}` | `form:${string}` | `query:${string}`;

/**
 * Text with places in braces, such as `{header:webhook-id}.{body}`. A place that holds nothing fails the whole text,
 * except `{json?:x}`, which is then empty. Besides places there are
 *   {body} {method} {url}     of the delivery
 *   {sha256}                  of the event's own JSON, where its provider gives it no id
 *   {random}                  where an event has nothing to be recognised by, and every delivery is a new one
 *   {hmac-hex:<place>}        the value signed with the secret (in the reply to a handshake)
 * Templates are checked when a provider is defined: `defineProvider`.
 */
export type Template = string;

/** What may be between the braces of a template. */
export type Placeholder =
  | Place
  | `json?:${string}`
  | 'body'
  | 'method'
  | 'url'
  | 'sha256'
  | 'random'
  | `hmac-hex:${Place}`;

export interface Delivery {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

export type Algorithm = 'hmac-sha256' | 'hmac-sha1' | 'ed25519' | 'ecdsa-p256-der';

/** Only where the provider signs it. The window holds in both directions. */
export interface Timestamp {
  readonly at: Place;
  readonly unit: 's' | 'ms';
  readonly windowSeconds: number;
}

export interface Signature {
  /** Only a `Token` has one: this tells the two kinds of scheme apart. */
  readonly token?: never;
  /** HMAC-SHA256 unless said otherwise. */
  readonly algorithm?: Algorithm;
  /** Every candidate found here may match, up to the verifier's cap. */
  readonly signature: Place | readonly Place[];
  readonly encoding: 'hex' | 'base64';
  /** How the secret becomes key bytes. Never guessed from a prefix: `whsec_` means two things (Stripe, Standard Webhooks). */
  readonly key: 'utf8' | 'base64' | 'hex';
  /** Cut off before decoding. A shared secret may come without it; a public key without it is refused. */
  readonly keyPrefix?: string;
  /** `{body}` is spliced in as bytes and never decoded. */
  readonly signed: Template | Custom;
  readonly timestamp?: Timestamp;
  /** Where the URL carries the hex SHA-256 of the body, and is signed in the body's place. */
  readonly bodyHash?: Place;
  /** Each item of the batch carries a signature of its own, and is looked at alone. */
  readonly perItem?: true;
}

/** The escape hatch, for what no template describes: the texts that may have been signed. All the rest stays data. */
export interface Custom {
  readonly custom: (delivery: Delivery) => Bytes[];
  /** For the table in docs/providers.md. */
  readonly words: string;
}

/** A shared token instead of a signature: it proves the sender, and nothing about what was sent. */
export interface Token {
  readonly token: Place;
  /** The secret is `user:password`, and comes as HTTP Basic authentication. */
  readonly basic?: true;
}

export type Scheme = Signature | Token;

export interface Handshake {
  readonly method: 'GET' | 'POST';
  /** All of it must hold. `like` also bounds what is echoed: nobody's markup comes back from our address. */
  readonly when: readonly { readonly at: Place; readonly is?: string; readonly like?: RegExp }[];
  /** The signature must verify first. Without this, what carries a signature is a delivery and no handshake. */
  readonly signed?: true;
  /** Must equal `<SOURCE>_VERIFY_TOKEN`. */
  readonly verifyToken?: Place;
  /** Here comes the signing secret itself, unsigned. Answered only while the source says `awaitsSecret`. */
  readonly handsOver?: Place;
  readonly reply: Reply;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, Template>>;
  readonly text?: Template;
  readonly json?: Readonly<Record<string, Template>>;
}

export interface Batch {
  /** Paths to the items, `*` for every element of an array. An element goes with the first path that reaches into it. */
  readonly each: readonly string[];
  /** For items that say too little alone: each item is kept inside a copy of the body that contains no other item. */
  readonly envelope?: Envelope;
  /** Bodies may be JSON Lines: an item on each line. */
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

/** What a provider's file contains. */
export interface ProviderData {
  readonly name: string;
  /** The official page these facts come from, or a sentence where there is none. */
  readonly docs: string;
  readonly scheme: Scheme;
  /** Other schemes the same deliveries may carry. Which one holds is decided by the secret that is set. */
  readonly otherSchemes?: readonly Scheme[];
  /** The body holds several events, and each is claimed on its own. */
  readonly batch?: Batch;
  /** Bodies may be form-encoded: such a body is kept as a JSON object of its fields. */
  readonly form?: true;
  readonly id: {
    /** The first that can be filled in wins. */
    readonly at: Template | readonly Template[];
    /** Is the id part of the signed text? If not, somebody could send a captured body again under a new id. */
    readonly signed: boolean;
    /** Two real events may have the same body, so the body can't be the replay key. */
    readonly bodiesRepeat?: true;
    /**
     * The replay key: an event with a new id but a known replay key is suspected to be a replay. Without this it is the
     * body, if the id is not signed. The first template that can be filled is used. If the id is signed, only the
     * signature itself makes sense here: for providers whose signed text could be cut into other fields (Adyen, Twilio).
     */
    readonly replayKey?: Template | readonly Template[];
  };
  /** The first that can be filled in wins. */
  readonly type: readonly Template[];
  readonly occurredAt?: { readonly at: Place | readonly Place[]; readonly unit: 's' | 'ms' | 'iso' };
  readonly handshakes?: readonly Handshake[];
  /** What it wants to hear once an event is held, where a 200 with our JSON isn't right. */
  readonly ack?: Reply;
  /** Its own limit on bodies, where it has one. */
  readonly maxBytes?: number;
  /** Days until it gives up. A key must be remembered for longer than that: DEDUPE_DAYS. */
  readonly retriesForDays?: number;
}

declare const madeByDefineProvider: unique symbol;

/** Provider data whose templates have been checked. Only `defineProvider` makes one. */
export interface Provider extends ProviderData {
  readonly [madeByDefineProvider]: true;
}
