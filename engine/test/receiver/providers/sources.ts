import type { Source } from '../../../src/kit/index.ts';
import { providers } from '../../../src/providers/index.ts';

/** As if a proxy stood before the receiver: these providers sign the address that they know. */
export const toldUrl = (name: string) => `https://hooks.example.com/webhooks/${name}`;

const SIGN_THE_URL = ['square', 'twilio', 'hubspot-v3'];

const named = Object.entries(providers).map(([name, provider]): [string, Source] => [
  name,
  { provider, types: [], ...(SIGN_THE_URL.includes(name) ? { url: toldUrl(name) } : {}) },
]);

/** Every provider as a source of its own name, and some that say more. */
export const sources: Readonly<Record<string, Source>> = {
  ...Object.fromEntries(named),
  ...variant('notion', 'new', { awaitsSecret: true }),
  ...variant('notion', 'short', { awaitsSecret: true }),
  ...variant('asana', 'new', { awaitsSecret: true }),
  ...variant('twilio', 'queried', { url: `${toldUrl('twilio')}?tenant=1` }),
  ...variant('github', 'repeats', { bodiesRepeat: true }),
  ...variant('shopify', 'repeats', { bodiesRepeat: true }),
  ...variant('woocommerce', 'repeats', { bodiesRepeat: true }),
  ...variant('mailgun', 'repeats', { bodiesRepeat: true }),
};

function variant(name: string, suffix: string, more: Partial<Source>): Record<string, Source> {
  const provider = providers[name];
  if (!provider) throw new Error(name);
  return { [`${name}-${suffix}`]: { provider, types: [], ...more } };
}
