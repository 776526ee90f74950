import { Hono } from 'hono';
import { createReceiver } from '../../src/receiver/receive.ts';
import { log } from '../../src/shared/log.ts';
import { sources } from './sources.ts';

// Like engine/src/receiver/index.ts, but with the benchmark's sources.
export default new Hono().route('/webhooks', createReceiver({ sources, now: () => new Date(), log }));
