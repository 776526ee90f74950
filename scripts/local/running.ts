import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/** Where `npm run dev` notes its port while it runs. */
const FILE = '.data/dev.json';

export function noteRunning(port: number): void {
  mkdirSync('.data', { recursive: true });
  writeFileSync(FILE, JSON.stringify({ port, pid: process.pid }));
  process.once('exit', () => rmSync(FILE, { force: true }));
}

/** The port of the `npm run dev` that runs in this checkout, if one does. */
export function runningPort(): number | undefined {
  if (!existsSync(FILE)) return undefined;
  const { port, pid } = JSON.parse(readFileSync(FILE, 'utf8')) as { port: number; pid: number };
  return isAlive(pid) ? port : undefined;
}

function isAlive(pid: number): boolean {
  try {
    // Signal 0 is not sent: it only tells whether the process exists.
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
