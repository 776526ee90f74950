import { SECRET_HEADER } from './front-header.ts';

/** A Worker whose cron handler can be called too, which a compatibility flag in worker-copies.ts allows. */
interface CronWorker {
  scheduled(options: { cron: string; scheduledTime: Date }): Promise<unknown>;
}

interface FrontEnv {
  /** If set, requests without it are refused, because they did not come through the proxy of `npm run dev`. */
  readonly SECRET?: string;
  readonly RECEIVER: Fetcher;
  readonly CONSUMER: CronWorker;
  readonly OPS?: Fetcher;
}

/**
 * Wrangler gives HTTP and the cron only to its first Worker. This one passes them on, so that all Workers share one
 * local port.
 */
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
