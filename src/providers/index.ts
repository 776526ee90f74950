import { awardee } from './awardee.ts';
import { gethook } from './gethook.ts';
import { github } from './github.ts';
import { sesmetric } from './sesmetric.ts';
import { standardwebhooks } from './standardwebhooks.ts';
import { stripe } from './stripe.ts';
import type { Provider } from './types.ts';

export type { Provider } from './types.ts';
export { verify } from './verify.ts';

/** For scripts and tests. A Worker imports the provider files it names, so that no other reaches its bundle. */
export const providers: Readonly<Record<string, Provider>> = {
  awardee,
  gethook,
  github,
  sesmetric,
  standardwebhooks,
  stripe,
};
