import type { Source } from '../kit/index.ts';
import { log } from '../shared/log.ts';
import { createOps } from './app.tsx';

export interface OpsOptions {
  readonly sources: Readonly<Record<string, Source>>;
  /** The console's name, shown at the top of each page. */
  readonly name?: string | undefined;
}

/**
 * The console, its API and the metrics. Returns a Hono app, which yours mounts at `/ops`.
 *
 * @example
 * const app = new Hono<{ Bindings: OpsEnv }>();
 * app.route('/ops', ops({ sources }));
 * export default app;
 */
export function ops({ sources, name }: OpsOptions) {
  return createOps({ sources, name, now: () => new Date(), log });
}
