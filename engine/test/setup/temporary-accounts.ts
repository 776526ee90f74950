import { createHash, randomBytes } from 'node:crypto';

// Cloudflare's temporary accounts, as these say, read on 2026-11-20: the source of wrangler 4.135.0 and 4.164.0 (workers-auth:
// `requestPowSolution`, `solvePow`, `createTemporaryPreviewAccount`); Cloudflare's page "Claim deployments" (stored copies: of June 2026,
// and a later one with the REST API) and its changelog of 2026-07-14; and what others have written down of real answers. Not from a live
// account. Nobody says what happens to a token when its account is claimed: here it is refused from then on.

interface Asked {
  readonly termsOfService: string;
  readonly privacyPolicy: string;
  readonly acceptTermsOfService: string;
  readonly challengeToken: string;
  readonly solution: { readonly checkpoints: string };
}

const HOUR_MS = 3_600_000;

export class TemporaryAccounts {
  private readonly seeds = new Map<string, string>();
  private count = 0;

  /** Real ones have asked for a thousand times two thousand hashes. */
  challenge() {
    const challengeToken = randomBytes(16).toString('hex');
    const seed = randomBytes(32).toString('base64url');
    this.seeds.set(challengeToken, seed);
    return { challengeToken, seed, k: 5, g: 100 };
  }

  /** `undefined`: refused. */
  make({ termsOfService, privacyPolicy, acceptTermsOfService, challengeToken, solution }: Asked) {
    const seed = this.seeds.get(challengeToken);
    // A challenge is solved once.
    this.seeds.delete(challengeToken);
    const isAccepted =
      termsOfService === 'https://www.cloudflare.com/terms/' &&
      privacyPolicy === 'https://www.cloudflare.com/privacypolicy/' &&
      acceptTermsOfService === 'yes';
    if (!isAccepted || seed === undefined || solution.checkpoints !== checkpointsOf(seed, 5, 100)) return undefined;
    const expiresAt = new Date(Date.now() + HOUR_MS).toISOString();
    const token = randomBytes(16).toString('hex');
    this.count++;
    return {
      account: {
        id: `temporary-${this.count}`,
        name: `Terrific Teal ${this.count}`,
        type: 'standard',
        apiToken: `cfat_${randomBytes(20).toString('hex')}`,
        expiresAt,
      },
      claim: { token, url: `https://dash.cloudflare.com/claim-preview?claimToken=${token}`, expiresAt },
    };
  }
}

/** `k + 1` hashes of 32 bytes, each of them `g` hashes after the one before. */
function checkpointsOf(seed: string, k: number, g: number): string {
  const hashes = [createHash('sha256').update(Buffer.from(seed, 'base64url')).digest()];
  while (hashes.length <= k * g) {
    hashes.push(
      createHash('sha256')
        .update(hashes.at(-1) ?? '')
        .digest(),
    );
  }
  return Buffer.concat(hashes.filter((_hash, at) => at % g === 0)).toString('base64');
}
