import { log } from '../../../../src/log.ts';
import { createReceiver } from '../../../../src/receiver/app.ts';
import { tick } from '../../../../src/receiver/cron.ts';
import consumer from '../../fixture/consumer.ts';
import { sources } from '../../fixture/sources.ts';

// Receiver and consumer in one bundle, which is a third smaller than two. Without the console, which no other Worker
// depends on.
const app = createReceiver({ sources, now: () => new Date(), log });

export default {
  ...consumer,
  fetch: app.fetch,
  scheduled: (controller, env) => tick(env, new Date(controller.scheduledTime), log),
} satisfies ExportedHandler<ReceiverEnv & ConsumerEnv>;
