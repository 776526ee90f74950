import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Users have such folders, and everything works in them. With a temporary folder before it, it has more than 120 characters. */
export const STRANGE_FOLDER = `claimcheck 100% #ö in a folder with a path that is as long as those of some users, ${'x'.repeat(30)}`;

/** Where programs write below node_modules. */
const CACHES = ['.cache', '.vite', '.vite-temp'];

/**
 * Copies files and folders of this checkout into a folder. The packages are shared. With `ownCaches` they are linked one by
 * one, so that several copies which run tests at the same time don't write into the same caches.
 */
export function copyCheckout(folder: string, names: readonly string[], { ownCaches = false } = {}): void {
  for (const name of names) cpSync(name, join(folder, name), { recursive: true });
  if (!ownCaches) {
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    return;
  }
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync('node_modules')) {
    if (!CACHES.includes(name)) symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name));
  }
}
