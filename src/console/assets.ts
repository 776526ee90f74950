import { SCRIPT } from './script.ts';
import { ICON, STYLE } from './style.ts';

/** FNV-1a. It only tells two versions of a file apart, so that a browser doesn't keep an old one. */
function versionOf(text: string): string {
  let hash = 0x811c9dc5;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return (hash >>> 0).toString(16);
}

export const STYLE_PATH = `/ops/assets/style-${versionOf(STYLE)}.css`;
export const SCRIPT_PATH = `/ops/assets/script-${versionOf(SCRIPT)}.js`;

const ASSETS: Readonly<Record<string, readonly [string, string]>> = {
  [STYLE_PATH]: ['text/css; charset=utf-8', STYLE],
  [SCRIPT_PATH]: ['text/javascript; charset=utf-8', SCRIPT],
  '/ops/assets/icon.svg': ['image/svg+xml', ICON],
};

/** A file of the pages. There is nothing secret in them, so they may stay in a cache. */
export function assetAt(path: string): Response | undefined {
  const asset = Object.hasOwn(ASSETS, path) ? ASSETS[path] : undefined;
  if (asset === undefined) return undefined;
  const [type, text] = asset;
  return new Response(text, {
    headers: { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' },
  });
}
