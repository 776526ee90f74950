import { type Kind, search } from './canaries.ts';

/** Headers that hand a canary to its owner: a session to the operator's browser, and Asana's own secret back to Asana. */
const HANDED_OVER = ['set-cookie', 'x-hook-secret'];

/** Searches an answer's headers and body. A copy is needed: it is read to its end. */
export async function searchAnswer(copy: Response, url: string): Promise<void> {
  const headers = Array.from(copy.headers).filter(([name]) => !HANDED_OVER.includes(name));
  const text = [...headers.map((header) => header.join(': ')), await copy.text()].join('\n');
  search(text, `the answer ${copy.status} of ${new URL(url).pathname}`, shownOnPurpose(url));
}

/** What an answer may show: the body of one event, to a signed-in operator. No list, no metric and no other answer shows any. */
export function shownOnPurpose(url: string): readonly Kind[] {
  const { pathname } = new URL(url);
  return /^\/ops\/(api\/)?events\/[^/]+\/[^/]+$/.test(pathname) ? ['body'] : [];
}
