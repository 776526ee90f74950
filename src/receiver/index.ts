import { sources } from '../app/sources.ts';
import { createConsole } from '../console/index.tsx';
import { log } from '../log.ts';
import { createReceiver } from './app.ts';
import { tick } from './cron.ts';

// Without `createConsole` there is nothing under /ops, and the bundle is smaller: see docs/console.md.
const app = createReceiver({ sources, now: () => new Date(), log, createConsole });

export default {
  fetch: app.fetch,
  scheduled: (controller, env) => tick(env, new Date(controller.scheduledTime), log),
} satisfies ExportedHandler<ReceiverEnv>;
