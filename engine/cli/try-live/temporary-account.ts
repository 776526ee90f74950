import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { callApi } from '../cloudflare/api.ts';
import { UserError } from '../lib/user-error.ts';
import type { TemporaryAccount } from './trial.ts';

// By Cloudflare's API for temporary accounts, and not by `wrangler deploy --temporary`: that is refused while one is logged in, keeps
// one account for all folders, and doesn't give its token to the commands that make queues and secrets. With the token in
// CLOUDFLARE_API_TOKEN, wrangler and setup work as in any account.

export const CLOUDFLARE_TERMS = {
  termsOfService: 'https://www.cloudflare.com/terms/',
  privacyPolicy: 'https://www.cloudflare.com/privacypolicy/',
};

/** What wrangler does at most, about a minute of work. */
const MOST_HASHES = 64e6;

interface Challenge {
  readonly challengeToken: string;
  readonly seed: string;
  /** `k` checkpoints, with `g` hashes from one to the next. */
  readonly k: number;
  readonly g: number;
}

interface Provisioned {
  readonly account: {
    readonly id: string;
    readonly name: string;
    readonly apiToken: string;
    readonly expiresAt: string;
  };
  readonly claim: { readonly url: string };
}

/** The caller has accepted the terms. */
export async function makeTemporaryAccount(): Promise<TemporaryAccount> {
  const challenge = await callApi<Challenge>('', 'POST', '/provisioning/previews/challenge', {});
  if (!challenge?.seed || !(challenge.k * challenge.g <= MOST_HASHES)) {
    throw new UserError('Cloudflare asks for a proof of work that this version does not know');
  }
  const made = await callApi<Provisioned>('', 'POST', '/provisioning/previews', {
    ...CLOUDFLARE_TERMS,
    acceptTermsOfService: 'yes',
    challengeToken: challenge.challengeToken,
    solution: { checkpoints: await solve(challenge) },
  });
  const { id, name, apiToken, expiresAt } = made?.account ?? {};
  const claimUrl = made?.claim?.url;
  if (id && name && apiToken && expiresAt && claimUrl) return { id, name, apiToken, expiresAt, claimUrl };
  throw new UserError("Cloudflare's answer has no temporary account that this version understands");
}

async function solve({ seed, k, g }: Challenge): Promise<string> {
  const sha256 = (data: Buffer) => hash('sha256', data, 'buffer');
  let last = sha256(Buffer.from(seed, 'base64url'));
  const checkpoints = [last];
  for (let at = 0; at < k; at++) {
    for (let count = 0; count < g; count++) last = sha256(last);
    checkpoints.push(last);
    // So that Ctrl-C is heard.
    await setImmediate();
  }
  return Buffer.concat(checkpoints).toString('base64');
}
