import type { Source } from '../kit/index.ts';
import { log } from '../shared/log.ts';
import { createReceiver } from './receive.ts';

/**
 * Takes deliveries at `/:source`. It is a Hono app, so yours can mount it.
 *
 * @example
 * const app = new Hono<{ Bindings: Env }>();
 * app.route('/webhooks', receiver({ sources }));
 * export default app;
 */
export function receiver({ sources }: { readonly sources: Readonly<Record<string, Source>> }) {
  return createReceiver({ sources, now: () => new Date(), log });
}
