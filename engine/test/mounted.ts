import { Hono } from 'hono';
import { createReceiver, type ReceiverDependencies } from '../src/receiver/receive.ts';

/** The receiver where an app of a user mounts it. */
export function mountedReceiver(dependencies: ReceiverDependencies) {
  return new Hono<{ Bindings: Env }>().route('/webhooks', createReceiver(dependencies));
}
