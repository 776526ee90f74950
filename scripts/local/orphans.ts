import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRoot, ROOT_HOME } from './programs.ts';

/** In a data folder: the checkout that it belongs to. */
const MARK = 'claimcheck-checkout';

/** As root the data is outside of its checkout, and would stay when the checkout is deleted. */
export function rememberCheckout(dataDir: string): void {
  if (isRoot) writeFileSync(join(dataDir, MARK), process.cwd());
}

/** Removes the data whose checkout is gone, unless a server uses it. */
export function removeOrphanedData(home = ROOT_HOME): void {
  const folders = existsSync(home) ? readdirSync(home).map((name) => join(home, name)) : [];
  for (const folder of folders) {
    const mark = join(folder, MARK);
    if (!existsSync(mark) || existsSync(readFileSync(mark, 'utf8')) || isServed(folder)) continue;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The file is PostgreSQL's own. After a crash it may name a process that is gone. */
function isServed(dataDir: string): boolean {
  const file = join(dataDir, 'postmaster.pid');
  if (!existsSync(file)) return false;
  const [pid = ''] = readFileSync(file, 'utf8').split('\n');
  return existsSync(`/proc/${pid}`);
}
