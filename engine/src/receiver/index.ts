import type { Source } from '../kit/index.ts';
import { log } from '../shared/log.ts';
import { createReceiver } from './receive.ts';

/**
 * Receives deliveries at `/:source`. Returns a Hono app, which yours can mount.
 *
 * @example
 * const app = new Hono<{ Bindings: Env }>();
 * app.route('/webhooks', receiver({ sources }));
 * export default app;
 */
export function receiver({ sources }: { readonly sources: Readonly<Record<string, Source>> }) {
  return createReceiver({ sources, now: () => new Date(), log });
}
