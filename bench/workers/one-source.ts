import { createConsole } from '../../src/console/index.tsx';
import { defineSources } from '../../src/kit/index.ts';
import { log } from '../../src/log.ts';
import { stripe } from '../../src/providers/stripe.ts';
import { createReceiver } from '../../src/receiver/app.ts';
import { tick } from '../../src/receiver/cron.ts';

// For the size of the bundle: as src/receiver/index.ts, with one provider.
const sources = defineSources({ stripe: { provider: stripe, types: [] } });
const app = createReceiver({ sources, now: () => new Date(), log, createConsole });

export default {
  fetch: app.fetch,
  scheduled: (controller, env) => tick(env, new Date(controller.scheduledTime), log),
} satisfies ExportedHandler<ReceiverEnv>;
