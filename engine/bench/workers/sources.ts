import { defineSources } from '../../src/kit/index.ts';
import { github } from '../../src/providers/github.ts';
import { sendgrid } from '../../src/providers/sendgrid.ts';
import { standardwebhooks } from '../../src/providers/standardwebhooks.ts';

/** A source with unsigned ids (fingerprint), one with a signed time, and one with batches. */
export const sources = defineSources({
  github: { provider: github, types: [] },
  standardwebhooks: { provider: standardwebhooks, types: [] },
  sendgrid: { provider: sendgrid, types: [] },
});

export type BenchSource = keyof typeof sources;

/** Its tenant sends what the source `github` sends. */
export const sourcesWithTenants = defineSources({ shops: { provider: github, types: [], tenants: true } });
