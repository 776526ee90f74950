// The consumer Worker: it works the events and the effects of the queues, and its cron sends lost tickets again, alerts you and
// deletes what is old. It has no URL.
import { consumer } from 'claimcheck/consumer';
import { effects } from './effects/index.ts';
import { handlers } from './handlers/index.ts';
import { sources } from './sources.ts';

export default consumer({ sources, handlers, effects });

// With these, `env` in your handlers has the variables and secrets of wrangler.consumer.toml, and your tests know your sources.
declare module 'claimcheck' {
  interface Register {
    env: ConsumerEnv;
    sources: typeof sources;
  }
}
