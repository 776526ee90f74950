import type { Source } from '../kit/index.ts';

/**
 * The URL that the provider has signed. Behind a proxy or a custom domain this is not the URL of the request, but the one
 * that the source configures. A provider may also add parameters for a single delivery and sign them: Twilio adds
 * `bodySHA256`. Only the request knows those.
 */
export function publicUrl({ url }: Source, request: Request): string {
  if (url === undefined) return request.url;
  const { search } = new URL(request.url);
  // Without a query of its own, all parameters of the request were added.
  if (!url.includes('?')) return url + search;
  const configured = URL.canParse(url) ? new URL(url).search : '';
  // With a query of its own, only the parameters behind it were added. If the query of the request begins differently,
  // the proxy has replaced it, and the provider has not signed it.
  const isExtended = configured !== '' && search.startsWith(`${configured}&`);
  return isExtended ? url + search.slice(configured.length) : url;
}
