// YOURS: who may send. Delete what you don't receive, here and in wrangler.toml's secrets.

import { defineSources } from 'claimcheck';
import { awardee } from 'claimcheck/providers/awardee';
import { gethook } from 'claimcheck/providers/gethook';
import { github } from 'claimcheck/providers/github';
import { sesmetric } from 'claimcheck/providers/sesmetric';
import { standardwebhooks } from 'claimcheck/providers/standardwebhooks';
import { stripe } from 'claimcheck/providers/stripe';

export const sources = defineSources({
  stripe: { provider: stripe, types: ['invoice.paid'] },
  github: { provider: github, types: ['push'] },
  sesmetric: { provider: sesmetric, types: ['delivery', 'bounce'] },
  // Claimed and kept, but nothing to do yet: no handler names them.
  standardwebhooks: { provider: standardwebhooks, types: [] },
  awardee: { provider: awardee, types: [] },
  gethook: { provider: gethook, types: [] },
});
