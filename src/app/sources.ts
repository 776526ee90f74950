// YOURS: who may send. Delete what you don't receive, here and in wrangler.toml's secrets.
import { awardee } from '../providers/awardee.ts';
import { gethook } from '../providers/gethook.ts';
import { github } from '../providers/github.ts';
import { sesmetric } from '../providers/sesmetric.ts';
import { standardwebhooks } from '../providers/standardwebhooks.ts';
import { stripe } from '../providers/stripe.ts';
import { defineSources } from './define.ts';

export const sources = defineSources({
  stripe: { provider: stripe, types: ['invoice.paid'] },
  github: { provider: github, types: ['push'] },
  sesmetric: { provider: sesmetric, types: ['delivery', 'bounce'] },
  // Claimed and kept, but nothing to do yet: no handler names them.
  standardwebhooks: { provider: standardwebhooks, types: [] },
  awardee: { provider: awardee, types: [] },
  gethook: { provider: gethook, types: [] },
});
