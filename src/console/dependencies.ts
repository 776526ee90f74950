import type { Source } from '../kit/index.ts';
import type { Log } from '../log.ts';

/** What the console is built from. */
export interface ConsoleDependencies {
  readonly sources: Readonly<Record<string, Source>>;
  readonly now: () => Date;
  readonly log: Log;
  /** When a delivery last used the database, as far as this isolate knows. */
  readonly databaseUsedAt: () => Date | undefined;
  /** To load the keys of Cloudflare Access. */
  readonly fetch: typeof fetch;
}
