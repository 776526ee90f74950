import { decodeText, type Parsed, parseJson } from '../encoding/json.ts';
import type { Delivery } from '../providers/types.ts';

/**
 * A delivery whose body is decoded and parsed when that is first needed, and only once.
 *
 * A body is parsed before its signature is verified in two cases only: the signature is inside the body (Mailgun,
 * Adyen), or the source awaits a secret that arrives inside the body of an unsigned handshake (Notion).
 */
export class DeliveryWithJson implements Delivery {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
  // Private, so that a copy made with `...` holds no JSON by accident.
  #text: { readonly decoded: string | undefined } | undefined;
  #parsed: Parsed | undefined;

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
    this.#text ??= { decoded: decodeText(this.body) };
    return this.#text.decoded;
  }

  parse(): Parsed {
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
