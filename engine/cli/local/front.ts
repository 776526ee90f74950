import { SECRET_HEADER } from './front-header.ts';

/** A Worker that can also be called as its cron calls it: the compatibility flag in worker-copies.ts allows this. */
interface Scheduled {
  scheduled(options: { cron: string; scheduledTime: Date }): Promise<unknown>;
}

interface FrontEnv {
  /** If it is set, only requests that bring it came through the proxy of `npm run dev`. */
  readonly SECRET?: string;
  readonly RECEIVER: Fetcher;
  readonly CONSUMER: Scheduled;
  readonly OPS?: Fetcher;
}

/** wrangler gives HTTP and the cron only to its first Worker: this one passes them on, so that all have one local port. */
export default {
  fetch(request, { SECRET, RECEIVER, OPS }) {
    if (SECRET !== undefined && request.headers.get(SECRET_HEADER) !== SECRET) {
      return new Response('This port is for npm run dev alone.\n', { status: 403 });
    }
    const isForOps = /^\/ops(\/|$)/.test(new URL(request.url).pathname);
    const headers = new Headers(request.headers);
    headers.delete(SECRET_HEADER);
    return (isForOps && OPS ? OPS : RECEIVER).fetch(new Request(request, { headers }));
  },
  async scheduled({ cron, scheduledTime }, { CONSUMER }) {
    await CONSUMER.scheduled({ cron, scheduledTime: new Date(scheduledTime) });
  },
} satisfies ExportedHandler<FrontEnv>;
