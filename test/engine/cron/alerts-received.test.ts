import { expect, it } from 'vitest';
import { tick } from '../../../src/consumer/cron.ts';
import { claim } from '../../../src/db/claim.ts';
import { openDatabase } from '../../../src/db/client.ts';
import { parkEvents } from '../../../src/db/events.ts';
import { claimRequest } from '../new-event.ts';
import { useRunning } from '../running.ts';

const running = useRunning({ consumer: undefined });

it('a Claimcheck accepts the alert of a Claimcheck as an event, and the same alert again as a duplicate', async () => {
  const now = new Date();
  const { consumer } = running.stack.workerUrls;
  const db = openDatabase(consumer);
  const failed = { failure: 'handler', error: 'TypeError' } as const;
  await claim(db, claimRequest(['evt_1'], { source: 'stripe', receivedAt: now }));
  await parkEvents(db, [{ source: 'stripe', eventId: 'evt_1' }], failed, now);

  const queue = { sendBatch: async () => {} };
  const env = {
    DATABASE_URL: consumer,
    EVENTS: queue,
    EFFECTS: queue,
    DEDUPE_DAYS: 30,
    BODY_DAYS: 7,
    ALERT_WEBHOOK_URL: `${running.workers.url}webhooks/standardwebhooks`,
    ALERT_WEBHOOK_SECRET: running.secret('standardwebhooks'),
  };
  const outcomes: string[] = [];
  const post = () => tick(env as unknown as ConsumerEnv, now, (line) => void outcomes.push(line.outcome));
  await post();
  // As if the answer to the first post had been lost.
  await running.sql('update webhooks.alerts set sent_at = null');
  await post();

  expect(outcomes).toEqual(['done', 'sent', 'done', 'done', 'sent', 'done']);
  expect(running.logs()).toMatch(/"outcome":"accepted".*\n.*"outcome":"duplicate"/);
  expect(await running.sql(`select type from webhooks.events where source = 'standardwebhooks'`)).toEqual([
    { type: 'claimcheck.alert' },
  ]);
});
