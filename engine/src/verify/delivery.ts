import type { Delivery } from '../providers/types.ts';
import { decodeText, type ParseResult, parseJson } from '../shared/json.ts';

/**
 * A delivery whose body is decoded and parsed when that is first needed, and only once.
 * A body is parsed before its signature is verified in two cases only: the signature is inside the body (Mailgun,
 * Adyen, Microsoft Graph), or the source awaits a secret that arrives inside the body of an unsigned handshake (Notion).
 */
export class DeliveryWithJson implements Delivery {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
  // Private, so that a copy made with `...` holds no JSON by accident.
  #text: string | undefined;
  #parsed: ParseResult | undefined;

  constructor({ method, url, headers, body }: Delivery) {
    this.method = method;
    this.url = url;
    this.headers = headers;
    this.body = body;
  }

  static from(delivery: Delivery): DeliveryWithJson {
    return delivery instanceof DeliveryWithJson ? delivery : new DeliveryWithJson(delivery);
  }

  /** `undefined` if the body is not UTF-8. */
  readText(): string | undefined {
    this.#text ??= decodeText(this.body);
    return this.#text;
  }

  parse(): ParseResult {
    const text = this.readText();
    this.#parsed ??= text === undefined ? { outcome: 'malformed' } : parseJson(text);
    return this.#parsed;
  }

  /** `undefined` if the body is not JSON. */
  readJson(): unknown {
    const parsed = this.parse();
    return parsed.outcome === 'parsed' ? parsed.json : undefined;
  }
}
