// YOURS: who may send. Delete what you don't receive, here and in wrangler.toml's secrets.

import { defineSources } from '#kit';
import { awardee } from '#providers/awardee';
import { gethook } from '#providers/gethook';
import { github } from '#providers/github';
import { sesmetric } from '#providers/sesmetric';
import { standardwebhooks } from '#providers/standardwebhooks';
import { stripe } from '#providers/stripe';

export const sources = defineSources({
  stripe: { provider: stripe, types: ['invoice.paid'] },
  github: { provider: github, types: ['push'] },
  sesmetric: { provider: sesmetric, types: ['delivery', 'bounce'] },
  // Claimed and kept, but nothing to do yet: no handler names them.
  standardwebhooks: { provider: standardwebhooks, types: [] },
  awardee: { provider: awardee, types: [] },
  gethook: { provider: gethook, types: [] },
});
