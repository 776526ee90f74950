import { type Kind, learn, learnPassword, search } from './canaries.ts';

/** What a request sends to prove who it is may not be in any output either. */
export function learnCredentials(headers: Headers): void {
  learnPassword(headers.get('neon-connection-string') ?? '');
  for (const [name, value] of headers) {
    if (/authorization/.test(name)) learnPieces('operator token', value);
    if (/signature|hmac|token|secret/.test(name)) learnPieces('signature', value);
  }
}

/** Mailgun and Adyen sign inside the body, and Notion sends its secret there. */
export function learnFromBody(body: unknown): void {
  if (typeof body !== 'string') return;
  for (const [, value = ''] of body.matchAll(/"(?:\w*signature|verification_token)"\s*:\s*"([^"]+)"/gi)) {
    learn('signature', value);
  }
}

/** The long words of a header: `t=1767225600,v1=5257a869…` has one, and `Basic c2FtcGxlOnNl…` has one. */
function learnPieces(kind: Kind, header: string): void {
  for (const [piece] of header.matchAll(/[\w+/=.-]{16,}/g)) learn(kind, piece.replace(/^[\w-]+=(?=.)/, ''));
}

/** Asana gets its own secret back. */
const HANDED_OVER = 'x-hook-secret';

/** Searches an answer's headers and body. It needs a copy, because it reads it to its end. */
export async function searchAnswer(copy: Response, url: string): Promise<void> {
  const headers = Array.from(copy.headers).filter(([name]) => name !== HANDED_OVER);
  const text = [...headers.map((header) => header.join(': ')), await copy.text()].join('\n');
  search(text, `the answer ${copy.status} of ${new URL(url).pathname}`, shownOnPurpose(url));
}

/** A signed-in operator may read the body of one event. No list, no metric and no other answer shows any. */
export function shownOnPurpose(url: string): readonly Kind[] {
  return /^\/ops\/(event|event\/body|api\/events\/[^/]+\/[^/]+)$/.test(new URL(url).pathname) ? ['body'] : [];
}
