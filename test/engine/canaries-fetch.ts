// Runs before every test file in Node. Every answer that a test fetches is searched, and what the test sends to prove who
// it is becomes a canary.
import { type Kind, learn, learnPassword } from './canaries.ts';
import { searchAnswer } from './search-answer.ts';

const send = globalThis.fetch;

globalThis.fetch = async (input, init) => {
  const { url, headers } = input instanceof Request ? input : new Request(input, { ...init, body: null, method: 'GET' });
  learnPassword(headers.get('neon-connection-string') ?? '');
  for (const [name, value] of headers) {
    if (/authorization|cookie/.test(name)) learnPieces('operator token', value);
    if (/signature|hmac|token|secret/.test(name)) learnPieces('signature', value);
  }
  const response = await send(input, init);
  // Neon's answers hold what is in the database, and go to the code under test.
  if (new URL(url).pathname !== '/sql') await searchAnswer(response.clone(), url);
  return response;
};

/** The long words of a header: `t=1767225600,v1=5257a869…` has one, and `Basic c2FtcGxlOnNl…` has one. */
function learnPieces(kind: Kind, header: string): void {
  for (const [piece] of header.matchAll(/[\w+/=.-]{16,}/g)) learn(kind, piece.replace(/^\w+=(?=.)/, ''));
}
