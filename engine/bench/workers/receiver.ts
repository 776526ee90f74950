import { Hono } from 'hono';
import { createReceiver } from '../../src/receiver/receive.ts';
import { log } from '../../src/shared/log.ts';
import { sources, sourcesWithTenants } from './sources.ts';

// Like engine/src/receiver/index.ts, but with the benchmark's sources.
const all = { ...sources, ...sourcesWithTenants };
export default new Hono().route('/webhooks', createReceiver({ sources: all, now: () => new Date(), log }));
