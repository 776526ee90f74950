import type { Source } from '../app/define.ts';

/**
 * The URL that a provider signs: the one it was told, to the letter. Twilio adds a query of its own to it, so the
 * request's query counts, unless the source names one.
 */
export function publicUrl({ url }: Source, request: Request): string {
  if (url === undefined) return request.url;
  return url.includes('?') ? url : url + new URL(request.url).search;
}
