import type { Delivery, Place } from '../providers/types.ts';
import { decodeText, type ParseResult, parseJson } from '../shared/json.ts';
import type { TemplateValues } from './places.ts';

const NO_BYTES = new Uint8Array();

/**
 * The values of one delivery that places and templates read. `body` is set when it has arrived, and `json` when parsing
 * is allowed.
 *
 * A body is parsed before its signature is verified in two cases only: if the signature is inside the body (Mailgun,
 * Adyen, Microsoft Graph), or if the source awaits a secret in the body of an unsigned handshake (Notion).
 */
export class DeliveryValues implements TemplateValues {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  body: Uint8Array;
  json: unknown;
  claims: unknown;
  signedHeaders: readonly string[] = [];
  sha256: string | undefined;
  crc32: string | undefined;
  randomId: (() => string) | undefined;
  hmacHex: Readonly<Record<Place, string>> = {};
  #text: string | undefined;
  #parsed: ParseResult | undefined;

  constructor({ method, url, headers, body = NO_BYTES }: Omit<Delivery, 'body'> & Partial<Delivery>) {
    this.method = method;
    this.url = url;
    this.headers = headers;
    this.body = body;
  }

  /** A copy whose `json` is one item of the batch. */
  itemOf(json: unknown): DeliveryValues {
    const item = new DeliveryValues(this);
    item.json = json;
    item.claims = this.claims;
    item.signedHeaders = this.signedHeaders;
    item.randomId = this.randomId;
    return item;
  }

  /** `undefined` if the body is not UTF-8. */
  text(): string | undefined {
    this.#text ??= decodeText(this.body);
    return this.#text;
  }

  /** Replaces a body that is or contains a token with the token's payload. */
  replaceBody(body: Uint8Array): void {
    this.body = body;
    this.#text = undefined;
    this.#parsed = undefined;
    this.json = undefined;
  }

  /** Parses the body and sets `json` if the body is valid JSON. */
  parse(): ParseResult {
    if (this.#parsed) return this.#parsed;
    const text = this.text();
    this.#parsed = text === undefined ? { outcome: 'malformed' } : parseJson(text);
    if (this.#parsed.outcome === 'parsed') this.json = this.#parsed.json;
    return this.#parsed;
  }
}
