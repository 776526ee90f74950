import { UserError } from '../lib/user-error.ts';
import type { ClaimableDatabase } from './trial.ts';

// By neon.new, and not by the newer `neon claim create` (claimable.neon.tech): there a claim address lives for 15 minutes, and making
// one locks the project, so it can't be printed for later. neon.new answers one request with all that is needed. It can't delete.

export const NEON_TERMS = {
  termsOfService: 'https://neon.com/terms-of-service',
  privacyPolicy: 'https://neon.com/privacy-policy',
};

const API = 'https://neon.new/api/v1/database';

interface Answer {
  readonly id?: string;
  readonly status?: string;
  readonly connection_string?: string | null;
  readonly claim_url?: string;
  readonly expires_at?: string;
  readonly message?: unknown;
}

/** The caller has accepted the terms. */
export async function makeClaimableDatabase(): Promise<ClaimableDatabase> {
  const body = JSON.stringify({ ref: 'claimcheck' });
  const answer = await ask(API, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { id, connection_string: url, claim_url: claimUrl, expires_at: expiresAt } = answer;
  if (id && url && claimUrl && expiresAt) return { id, url, claimUrl, expiresAt };
  throw new UserError("neon.new's answer has no database that this version understands");
}

/** While nobody has opened its claim address, it is ours to empty. */
export async function isUnclaimed({ id }: ClaimableDatabase): Promise<boolean> {
  return (await ask(`${API}/${encodeURIComponent(id)}`)).status === 'UNCLAIMED';
}

/** The owner's URL, if the database is somebody's: Neon deletes any other. */
export async function claimedUrl(database: ClaimableDatabase | undefined): Promise<string | undefined> {
  const isClaimed = database && !(await isUnclaimed(database).catch(() => true));
  return isClaimed ? database.url : undefined;
}

async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(60_000) }).catch(() => undefined);
  if (!response) throw new UserError('neon.new could not be reached: check the network');
  const answer = (await response.json().catch(() => ({}))) as Answer;
  if (response.ok) return answer;
  const why = typeof answer.message === 'string' ? ` (${answer.message.slice(0, 200)})` : '';
  throw new UserError(`neon.new refuses: HTTP ${response.status}${why}`);
}
