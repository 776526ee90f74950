import { expect, it } from 'vitest';
import { claim } from '../../../src/db/claim.ts';
import { openDatabase } from '../../../src/db/client.ts';
import { parkEvents } from '../../../src/db/fail.ts';
import { tick } from '../../../src/receiver/cron.ts';
import { claimable } from '../claimable.ts';
import { useRunning } from '../running.ts';

const running = useRunning({ consumer: undefined });

it('a Claimcheck accepts the alert of a Claimcheck as an event, and the same alert again as a duplicate', async () => {
  const now = new Date();
  const db = openDatabase(running.stack.workerUrls.receiver);
  await claim(db, 'stripe', [claimable('evt_1')], {}, now);
  await parkEvents(db, [{ source: 'stripe', eventId: 'evt_1' }], 'TypeError: x', now);

  const queue = { sendBatch: async () => {} };
  const env = {
    DATABASE_URL: running.stack.workerUrls.receiver,
    EVENTS: queue,
    EFFECTS: queue,
    DEDUPE_DAYS: 30,
    BODY_DAYS: 7,
    ALERT_WEBHOOK_URL: `${running.workers.url}webhooks/standardwebhooks`,
    ALERT_WEBHOOK_SECRET: running.secret('standardwebhooks'),
  };
  const outcomes: string[] = [];
  const post = () => tick(env as unknown as ReceiverEnv, now, (line) => void outcomes.push(line.outcome));
  await post();
  // As if the answer to the first post had been lost.
  await running.sql('update webhook_alerts set sent_at = null');
  await post();

  expect(outcomes).toEqual(['done', 'sent', 'done', 'done', 'sent', 'done']);
  expect(running.logs()).toMatch(/"outcome":"accepted".*\n.*"outcome":"duplicate"/);
  expect(await running.sql(`select type from webhook_events where source = 'standardwebhooks'`)).toEqual([
    { type: 'claimcheck.alert' },
  ]);
});
