import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { commandOf } from '../lib/processes.ts';

/** Where `npm run dev` notes its port while it runs. */
const FILE = '.data/dev.json';

export function noteRunning(port: number): void {
  mkdirSync('.data', { recursive: true });
  writeFileSync(FILE, JSON.stringify({ port, pid: process.pid }));
  process.once('exit', () => rmSync(FILE, { force: true }));
}

/** The `npm run dev` that runs in this checkout, if one does. */
export function runningDev(): { readonly port: number; readonly pid: number } | undefined {
  if (!existsSync(FILE)) return undefined;
  const noted = JSON.parse(readFileSync(FILE, 'utf8')) as { port: number; pid: number };
  return isAlive(noted.pid) ? noted : undefined;
}

export function runningPort(): number | undefined {
  return runningDev()?.port;
}

function isAlive(pid: number): boolean {
  // After a crash another process may have got the number since. Not every system tells which program it is.
  if (commandOf(pid)?.some((part) => part.endsWith('run.mjs')) === false) return false;
  try {
    // Signal 0 is not sent: it only tells whether the process exists.
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
