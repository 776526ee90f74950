import type { Source } from '../kit/index.ts';
import { log } from '../shared/log.ts';
import { createOps } from './app.tsx';

export interface OpsOptions {
  readonly sources: Readonly<Record<string, Source>>;
  /** What the console is called, in the head of each page. */
  readonly name?: string | undefined;
}

/**
 * The console, its API and the metrics. It is a Hono app, which yours mounts at `/ops`.
 *
 * @example
 * const app = new Hono<{ Bindings: OpsEnv }>();
 * app.route('/ops', ops({ sources }));
 * export default app;
 */
export function ops({ sources, name }: OpsOptions) {
  return createOps({ sources, name, now: () => new Date(), log });
}
