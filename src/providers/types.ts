/**
 * Where a value lives in a delivery. Header names are lower-case.
 *   header:x      the whole header
 *   header:x#k    key k of a list header, written k=v or k,v and separated by comma, semicolon or space
 *   json:a.b      a path in the body, parsed only after the signature has been verified
 */
export type Place = `header:${string}` | `json:${string}`;

/** Text with places in braces, such as `{header:webhook-id}.{body}`. A place that holds nothing fails the whole text. */
export type Template = string;

export interface Scheme {
  /** Every candidate found here may match, up to the verifier's cap. */
  readonly signature: Place;
  readonly encoding: 'hex' | 'base64';
  /** How the secret becomes key bytes. Never guessed from a prefix: `whsec_` means two things (Stripe, Standard Webhooks). */
  readonly key: 'utf8' | 'base64';
  readonly keyPrefix?: string;
  /** `{body}` is spliced in as bytes and never decoded. */
  readonly signed: Template;
  /** Only where the provider signs it. The window holds in both directions. */
  readonly timestamp?: { readonly at: Place; readonly unit: 's' | 'ms'; readonly windowSeconds: number };
}

export interface Provider {
  readonly name: string;
  /** The official page these facts come from, or a sentence where there is none. */
  readonly docs: string;
  readonly scheme: Scheme;
  readonly id: {
    readonly at: Template;
    /** Is the id inside the signed bytes? If not, a captured body could come back under a new id: its fingerprint refuses that. */
    readonly signed: boolean;
    /** True where two events may carry the same body, so that a fingerprint would swallow the second. */
    readonly bodiesRepeat?: true;
  };
  /** The first that can be filled in wins. */
  readonly type: readonly Template[];
  readonly occurredAt?: { readonly at: Place; readonly unit: 's' | 'ms' | 'iso' };
}
