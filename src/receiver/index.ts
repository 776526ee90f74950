import { sources } from '../app/sources.ts';
import { log } from '../log.ts';
import { createReceiver } from './app.ts';
import { tick } from './cron.ts';

// The console is loaded at the first request for it. Without this line, the bundle doesn't contain it.
const loadConsole = () => import('../console/index.tsx');

const app = createReceiver({ sources, now: () => new Date(), log, loadConsole });

export default {
  fetch: app.fetch,
  scheduled: (controller, env) => tick(env, new Date(controller.scheduledTime), log),
} satisfies ExportedHandler<ReceiverEnv>;
