import { Hono } from 'hono';
import { defineSources } from '../../src/kit/index.ts';
import { stripe } from '../../src/providers/stripe.ts';
import { createReceiver } from '../../src/receiver/receive.ts';
import { log } from '../../src/shared/log.ts';

// For the bundle's size: like engine/src/receiver/index.ts, with one provider.
const sources = defineSources({ stripe: { provider: stripe, types: [] } });

export default new Hono().route('/webhooks', createReceiver({ sources, now: () => new Date(), log }));
