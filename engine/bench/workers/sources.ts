import { defineSources } from '../../src/kit/index.ts';
import { github } from '../../src/providers/github.ts';
import { sendgrid } from '../../src/providers/sendgrid.ts';
import { standardwebhooks } from '../../src/providers/standardwebhooks.ts';

/** One source that doesn't sign its ids (fingerprint), one that signs a time, and one that sends batches. */
export const sources = defineSources({
  github: { provider: github, types: [] },
  standardwebhooks: { provider: standardwebhooks, types: [] },
  sendgrid: { provider: sendgrid, types: [] },
});

export type BenchSource = keyof typeof sources;

/** Its tenant sends what the source `github` sends. */
export const sourcesWithTenants = defineSources({ shops: { provider: github, types: [], tenants: true } });
