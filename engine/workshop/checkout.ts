import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

/**
 * Some users have such folders, and everything must work in them. In a temporary folder, the path has more than 120
 * characters.
 */
export const STRANGE_FOLDER = `claimcheck 100% #ö in a folder with a path that is as long as those of some users, ${'x'.repeat(30)}`;

/** Copies files and folders of this checkout into a folder. The copy shares the packages, including the engine. */
export function copyCheckout(folder: string, names: readonly string[]): void {
  for (const name of names) cpSync(name, join(folder, name), { recursive: true });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
}

/** Folders in node_modules that programs write to. */
const CACHES = ['.cache', '.vite', '.vite-temp'];

/** A copy with its own engine. Packages are linked individually, so that copies don't share caches. */
export function copyWithEngine(folder: string, names: readonly string[]): void {
  const filter = (path: string) => basename(path) !== 'node_modules';
  for (const name of [...names, 'engine']) cpSync(name, join(folder, name), { recursive: true, filter });
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync('node_modules')) {
    const target = name === 'claimcheck' ? join('..', 'engine') : resolve('node_modules', name);
    if (!CACHES.includes(name)) symlinkSync(target, join(folder, 'node_modules', name));
  }
  const packages = resolve('engine/workshop/node_modules');
  for (const room of ['workshop', 'test', 'bench']) symlinkSync(packages, join(folder, 'engine', room, 'node_modules'));
}
