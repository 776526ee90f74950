import { type SQL, sql } from 'drizzle-orm';
import { webhookEvents as events } from './schema.ts';

/**
 * The sources of all events, as `seen_sources`: also of those that are not configured any more. It jumps from one source
 * to the next in the primary key. A `select distinct` would read the whole index. The CTE needs `with recursive`.
 */
export const seenSources: SQL = sql`seen_sources as (
      (select ${events.source} as source from ${events} order by ${events.source} limit 1)
      union all
      select (
        select ${events.source} from ${events} where ${events.source} > seen_sources.source
        order by ${events.source} limit 1
      ) from seen_sources where seen_sources.source is not null
    )`;
