import { sources } from '../app/sources.ts';
import { log } from '../log.ts';
import { createReceiver } from './app.ts';
import { tick } from './cron.ts';

const app = createReceiver({ sources, now: () => new Date(), log });

export default {
  fetch: app.fetch,
  scheduled: (controller, env) => tick(env, new Date(controller.scheduledTime), log),
} satisfies ExportedHandler<ReceiverEnv>;
