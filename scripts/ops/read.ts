import { Status } from '../../src/db/status.ts';
import type { ListedEvent } from '../../src/db/views.ts';
import { EventPage } from '../../src/ops/api.ts';
import { UserError } from '../lib/user-error.ts';
import { NOTHING_MATCHED, NotFound, type OpsApi } from './api.ts';

/** The most that the API returns at a time. */
const PAGE = 500;

export function pathOf(source: string, eventId: string): string {
  return `/events/${encodeURIComponent(source)}/${encodeURIComponent(eventId)}`;
}

/** A call about one event. Other Workers answer 404 too, so another call tells the two apart. */
export async function ofOneEvent<Answer>(api: OpsApi, call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
    await api.get('/status', Status);
    throw new UserError('there is no such event', NOTHING_MATCHED);
  }
}

/** Events that match, newest first, at most `limit` of them, page by page. */
export async function* listEvents(
  api: OpsApi,
  filter: Readonly<Record<string, string>>,
  limit: number,
): AsyncGenerator<{ events: readonly ListedEvent[]; more: boolean }> {
  let left = limit;
  let cursor: string | null = '';
  while (cursor !== null && left > 0) {
    const query: URLSearchParams = new URLSearchParams({ ...filter, limit: String(Math.min(PAGE, left)) });
    if (cursor) query.set('cursor', cursor);
    const { events, next_cursor } = await api.get(`/events?${query}`, EventPage);
    left -= events.length;
    cursor = next_cursor;
    yield { events, more: next_cursor !== null };
  }
}
