import { expect, it, vi } from 'vitest';
import { useRunning, WAIT } from '../running.ts';

const running = useRunning({ consumer: 'test/engine/faults/wrangler.toml' });
const { post, sign, sql } = running;

it('an event that kills its isolate is parked as a dead letter, and its neighbours are finished', async () => {
  const deliveries = await Promise.all([
    ...[1, 2, 3, 4].map((n) => sign('gethook', `{"id":"neighbour_${n}","type":"any"}`)),
    sign('awardee', '{}', { id: 'poison', type: 'kills' }),
  ]);
  await Promise.all(deliveries.map((delivery, at) => post(at < 4 ? 'gethook' : 'awardee', delivery)));

  const rows = await vi.waitFor(async () => {
    const found = await sql<{ event_id: string; status: string; failure: string | null }>(
      'select event_id, status, failure from webhooks.events order by event_id',
    );
    if (found.some(({ status }) => status === 'pending')) throw new Error('still pending');
    return found;
  }, WAIT);
  expect(rows).toEqual([
    ...[1, 2, 3, 4].map((n) => ({ event_id: `neighbour_${n}`, status: 'ignored', failure: null })),
    { event_id: 'poison', status: 'parked', failure: 'poison' },
  ]);
});
