import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Plugin } from 'vite';

/** What wrangler's Text rule does for the ops Worker: the style and the script of its pages are imported as texts. */
export const textModules: Plugin = {
  name: 'text-modules',
  enforce: 'pre',
  resolveId(id, importer) {
    if (!importer?.includes('/src/ops/') || !/\/pages\/[^/]+\.(css|js)$/.test(id)) return undefined;
    // The suffix keeps Vite's own plugins away from them.
    return `\0${resolve(importer, '..', id)}.text`;
  },
  load(id) {
    if (!id.startsWith('\0') || !id.endsWith('.text')) return undefined;
    return `export default ${JSON.stringify(readFileSync(id.slice(1, -'.text'.length), 'utf8'))}`;
  },
};
