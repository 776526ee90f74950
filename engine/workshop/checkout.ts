import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

/** Users have such folders, and everything works in them. With a temporary folder before it, it has more than 120 characters. */
export const STRANGE_FOLDER = `claimcheck 100% #ö in a folder with a path that is as long as those of some users, ${'x'.repeat(30)}`;

/** Copies files and folders of this checkout into a folder. The packages are shared, the engine among them. */
export function copyCheckout(folder: string, names: readonly string[]): void {
  for (const name of names) cpSync(name, join(folder, name), { recursive: true });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
}

/** Where programs write below node_modules. */
const CACHES = ['.cache', '.vite', '.vite-temp'];

/** A copy with an engine of its own. The packages are linked one by one, so that copies don't write into the same caches. */
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
