// Compares a wrong signature or token with the right one, again and again. timing.test.ts measures how long that takes.
import { type Bytes, toHex } from '../../src/shared/bytes.ts';
import { checkWith, sameText } from '../../src/verify/algorithms.ts';

const SIGNED = Uint8Array.from(new TextEncoder().encode('{"id":"evt_1"}'));
const KEY = { name: 'HMAC', hash: 'SHA-256' };

export const COMPARISONS = ['signature', 'token', 'byte by byte'] as const;
export type Comparison = (typeof COMPARISONS)[number];

export default {
  /** Answers whether any comparison said that the two are the same. */
  async fetch(request: Request): Promise<Response> {
    const { searchParams } = new URL(request.url);
    const secret = Uint8Array.from(crypto.getRandomValues(new Uint8Array(32)));
    const key = await crypto.subtle.importKey('raw', secret, KEY, false, ['sign']);
    const given = new Uint8Array(await crypto.subtle.sign('HMAC', key, SIGNED));
    const token = toHex(given.buffer);
    const wrong = Number(searchParams.get('wrong'));
    given[wrong] = (given[wrong] ?? 0) ^ 1;
    const compare = await comparer(searchParams.get('comparison') as Comparison, secret, token);
    let same = false;
    for (let n = Number(searchParams.get('times')); n > 0; n--) same = (await compare(given)) || same;
    return Response.json(same);
  },
};

async function comparer(
  comparison: Comparison,
  secret: Bytes,
  token: string,
): Promise<(given: Bytes) => Promise<boolean>> {
  switch (comparison) {
    case 'signature': {
      const check = await checkWith('hmac-sha256', secret);
      if (check === undefined) throw new Error('not a key');
      return (given) => check(given, SIGNED);
    }
    case 'token':
      return (given) => sameText(token, toHex(given.buffer));
    case 'byte by byte': {
      const key = await crypto.subtle.importKey('raw', secret, KEY, false, ['sign']);
      return async (given) => {
        const right = new Uint8Array(await crypto.subtle.sign('HMAC', key, SIGNED));
        for (let at = 0; at < right.length; at++) if (right[at] !== given[at]) return false;
        return true;
      };
    }
  }
}
