/** A Worker that can also be called as its cron calls it: the compatibility flag in worker-copies.ts allows this. */
interface Scheduled {
  scheduled(options: { cron: string; scheduledTime: Date }): Promise<unknown>;
}

interface FrontEnv {
  readonly RECEIVER: Fetcher;
  readonly CONSUMER: Scheduled;
  readonly OPS?: Fetcher;
}

/** wrangler gives HTTP and the cron only to its first Worker: this one passes them on, so that all have one local port. */
export default {
  fetch(request, { RECEIVER, OPS }) {
    const isForOps = /^\/ops(\/|$)/.test(new URL(request.url).pathname);
    return (isForOps && OPS ? OPS : RECEIVER).fetch(request);
  },
  async scheduled({ cron, scheduledTime }, { CONSUMER }) {
    await CONSUMER.scheduled({ cron, scheduledTime: new Date(scheduledTime) });
  },
} satisfies ExportedHandler<FrontEnv>;
