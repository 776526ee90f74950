import { type Bytes, fromBase64, toHex } from '../shared/bytes.ts';

/** The fields of a certificate that verification needs (RFC 5280, section 4.1). WebCrypto can't read certificates. */
export interface Certificate {
  /** SPKI. */
  readonly publicKey: Bytes;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** The signed part, its signature algorithm, and the signature. */
  readonly signed: Bytes;
  readonly algorithm: Bytes;
  readonly signature: Bytes;
  readonly issuer: Bytes;
  readonly subject: Bytes;
  /** The value of each extension, by the hex of its object identifier. */
  readonly extensions: ReadonlyMap<string, Bytes>;
}

/** Reads a certificate, or the first one of a chain. `undefined` if the text is anything else. */
export function readPem(pem: string): Certificate | undefined {
  const [, base64 = ''] = /^\s*-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/.exec(pem) ?? [];
  const der = fromBase64(base64.replaceAll(/\s/g, ''));
  return der && readCertificate(der);
}

/** `undefined` if the bytes are not exactly one certificate. */
export function readCertificate(der: Bytes): Certificate | undefined {
  const [certificate, ...more] = elementsOf(der);
  if (certificate?.tag !== SEQUENCE || more.length > 0) return undefined;
  const [signed, algorithm, signature] = elementsOf(certificate.content);
  const fields = signed?.tag === SEQUENCE ? elementsOf(signed.content) : [];
  // The version is optional and has a tag of its own.
  const [, , issuer, validity, subject, publicKey, ...rest] = fields[0]?.tag === VERSION ? fields.slice(1) : fields;
  const [notBefore, notAfter] = (validity ? elementsOf(validity.content) : []).map(timeOf);
  if (!signed || !algorithm || !signature || !issuer || !subject || !publicKey || !notBefore || !notAfter)
    return undefined;
  return {
    publicKey: publicKey.whole,
    notBefore,
    notAfter,
    signed: signed.whole,
    algorithm: algorithm.whole,
    // A bit string begins with a byte that counts its unused bits. Here that is 0.
    signature: signature.content.subarray(1),
    issuer: issuer.whole,
    subject: subject.whole,
    extensions: extensionsIn(rest.find(({ tag }) => tag === EXTENSIONS)),
  };
}

function extensionsIn(list: Element | undefined): Map<string, Bytes> {
  const [sequence] = list ? elementsOf(list.content) : [];
  const entries = (sequence ? elementsOf(sequence.content) : []).map(({ content }): [string, Bytes] => {
    const parts = elementsOf(content);
    return [toHex(parts[0]?.content ?? NONE), parts.at(-1)?.content ?? NONE];
  });
  return new Map(entries);
}

export function isValidAt({ notBefore, notAfter }: Pick<Certificate, 'notBefore' | 'notAfter'>, now: Date): boolean {
  return notBefore <= now && now <= notAfter;
}

const SEQUENCE = 0x30;
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;
const UTC_TIME = 0x17;
const NONE = new Uint8Array();

interface Element {
  readonly tag: number;
  readonly content: Bytes;
  /** Includes the tag and the length. */
  readonly whole: Bytes;
}

/** The consecutive DER elements in these bytes (X.690, 8.1). Empty if a length is invalid. */
function elementsOf(bytes: Bytes): Element[] {
  const elements: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at] ?? 0;
    const first = bytes[at + 1] ?? 0xff;
    // From 0x80 on, this byte says how many bytes the length itself takes. Two are enough for any certificate.
    const lengthBytes = first < 0x80 ? 0 : first - 0x80;
    if (lengthBytes > 2) return [];
    const start = at + 2 + lengthBytes;
    const length = lengthBytes === 0 ? first : bytes.subarray(at + 2, start).reduce((sum, byte) => sum * 256 + byte, 0);
    if (start + length > bytes.length) return [];
    elements.push({ tag, content: bytes.subarray(start, start + length), whole: bytes.subarray(at, start + length) });
    at = start + length;
  }
  return elements;
}

/** RFC 5280, 4.1.2.5. Years until 2049 have two digits; times always have seconds and are in UTC. */
function timeOf({ tag, content }: Element): Date | undefined {
  const text = new TextDecoder().decode(content);
  const [, year = '', ...rest] =
    (tag === UTC_TIME ? /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/ : /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/).exec(
      text,
    ) ?? [];
  if (year === '') return undefined;
  const [month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = rest.map(Number);
  const century = tag !== UTC_TIME ? 0 : Number(year) < 50 ? 2000 : 1900;
  return new Date(Date.UTC(century + Number(year), month - 1, day, hours, minutes, seconds));
}
