import type { Source } from '../kit/index.ts';
import { log } from '../shared/log.ts';
import { createOps } from './app.tsx';

/**
 * The console, its API and the metrics. It is a Hono app, which yours mounts at `/ops`.
 *
 * @example
 * const app = new Hono<{ Bindings: OpsEnv }>();
 * app.route('/ops', ops({ sources }));
 * export default app;
 */
export function ops({ sources }: { readonly sources: Readonly<Record<string, Source>> }) {
  return createOps({ sources, now: () => new Date(), log });
}
