import { createConsole } from '../../src/console/index.tsx';
import { log } from '../../src/log.ts';
import { createReceiver } from '../../src/receiver/app.ts';
import { tick } from '../../src/receiver/cron.ts';
import { sources } from './sources.ts';

// As src/receiver/index.ts, console included, but with the sources of the benchmark.
const app = createReceiver({ sources, now: () => new Date(), log, createConsole });

export default {
  fetch: app.fetch,
  scheduled: (controller, env) => tick(env, new Date(controller.scheduledTime), log),
} satisfies ExportedHandler<ReceiverEnv>;
