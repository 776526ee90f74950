import { setTimeout as wait } from 'node:timers/promises';
import { Activity, EventPage, type ListedEvent, Status } from './ops-answers.ts';
import { NOTHING_MATCHED, NotFound, type OpsApi, Unavailable } from './ops-api.ts';
import { UserError } from './user-error.ts';

/** The most that the API returns at a time. */
const PAGE = 500;

export function pathOf(source: string, eventId: string): string {
  return `/events/${encodeURIComponent(source)}/${encodeURIComponent(eventId)}`;
}

/** A call about one event. A receiver without a console answers 404 too, so another call tells the two apart. */
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
): AsyncGenerator<{ events: ListedEvent[]; more: boolean }> {
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

/** As often as a person reads. Every call is a query, so the database stays awake while somebody watches. */
const POLL_MS = 2000;
/** After a failure, so that a receiver in trouble isn't asked more often. */
const RETRY_MS = 5000;

/** What happens, until the process is ended. A receiver that fails for a while is asked again. */
export async function* follow(api: OpsApi, source: string | undefined, say: (text: string) => void) {
  let cursor = '';
  let failing = false;
  while (true) {
    try {
      const answer = await api.get(`/activity${cursor ? `?after=${encodeURIComponent(cursor)}` : ''}`, Activity);
      if (failing) say('it answers again');
      failing = false;
      cursor = answer.cursor;
      yield answer.lines.filter((line) => source === undefined || line.source === source);
      await wait(POLL_MS);
    } catch (error) {
      // If not even the first call succeeds, the command is wrong, or nothing is there.
      if (!(error instanceof Unavailable) || cursor === '') throw error;
      if (!failing) say(`${error.message}; trying again`);
      failing = true;
      await wait(RETRY_MS);
    }
  }
}
