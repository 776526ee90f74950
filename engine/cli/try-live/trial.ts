import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { Names } from '../setup/account.ts';

/** Git ignores it, as all of .data, and only its owner can read it: it holds tokens and secrets. */
const FILE = '.data/try-live.json';

interface Claimable {
  readonly expiresAt: string;
  /** Whoever opens it owns what it claims. */
  readonly claimUrl: string;
}

export interface TemporaryAccount extends Claimable {
  readonly id: string;
  readonly name: string;
  readonly apiToken: string;
}

export interface ClaimableDatabase extends Claimable {
  readonly id: string;
  /** Of the owner. */
  readonly url: string;
}

/** What `npm run try-live` has made. It is written after every step, so that the next run goes on from there. */
export interface Trial {
  readonly account?: TemporaryAccount;
  readonly database?: ClaimableDatabase;
  /** The app may have been renamed since. */
  readonly names?: Names;
  /** By their names: what the Workers have, and what samples are signed with. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The receiver's address, when everything is deployed. */
  readonly receiver?: string;
}

export function readTrial(): Trial {
  return existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : { secrets: {} };
}

export function writeTrial(trial: Trial): Trial {
  mkdirSync('.data', { recursive: true });
  // In one piece, even if this run is ended now.
  writeFileSync(`${FILE}.new`, JSON.stringify(trial, undefined, 2), { mode: 0o600 });
  renameSync(`${FILE}.new`, FILE);
  return trial;
}

export function forgetTrial(): void {
  rmSync(FILE, { force: true });
}

/** `undefined` if it has expired. Whether it was claimed before, it can't know. */
export function ifAlive<Made extends Claimable>(made: Made | undefined): Made | undefined {
  return made && Date.parse(made.expiresAt) > Date.now() ? made : undefined;
}

export function timeOf({ expiresAt }: Claimable): string {
  return `${new Date(expiresAt).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
