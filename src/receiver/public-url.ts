import type { Source } from '../kit/index.ts';

/**
 * The URL that a provider signs: the one it was told, to the letter, and what it adds to that. Twilio adds the hash of a
 * JSON body to the query, behind the query that the source names.
 */
export function publicUrl({ url }: Source, request: Request): string {
  if (url === undefined) return request.url;
  const { search } = new URL(request.url);
  if (!url.includes('?')) return url + search;
  const told = URL.canParse(url) ? new URL(url).search : '';
  // A query that begins otherwise is the proxy's, who swallows the one that was told.
  return told !== '' && search.startsWith(`${told}&`) ? url + search.slice(told.length) : url;
}
