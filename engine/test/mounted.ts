// The engine's Hono apps where an app of a user mounts them.
import { Hono } from 'hono';
import type { OpsDependencies } from '../src/ops/api.ts';
import { createOps } from '../src/ops/app.tsx';
import { createReceiver, type ReceiverDependencies } from '../src/receiver/receive.ts';

export function mountedReceiver(dependencies: ReceiverDependencies) {
  return new Hono<{ Bindings: Env }>().route('/webhooks', createReceiver(dependencies));
}

export function mountedOps(dependencies: OpsDependencies) {
  return new Hono<{ Bindings: OpsEnv }>().route('/ops', createOps(dependencies)).get('/', (c) => c.redirect('/ops'));
}
