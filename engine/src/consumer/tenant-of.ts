import type { EventKey } from '../db/keys.ts';
import { PermanentError, withFailure } from '../kit/errors.ts';
import { tenantIn } from '../shared/tenants.ts';
import type { ConsumerDependencies } from './portions.ts';

/** The tenant of an event, if its source has tenants. An event without one is not worked: it could reach what is not its own. */
export function tenantOf(
  { source, eventId }: EventKey,
  { sources }: Pick<ConsumerDependencies, 'sources'>,
): string | undefined {
  if (!Object.hasOwn(sources, source) || !sources[source]?.tenants) return undefined;
  const tenant = tenantIn(eventId);
  if (tenant !== undefined) return tenant;
  const problem = `${source} has tenants, and the id of this event names none: give tenants to a new source only`;
  throw withFailure(new PermanentError(problem), 'permanent');
}
