import { beforeEach, expect, it } from 'vitest';
import { claim } from '../../../src/db/claim.ts';
import { defineHandler } from '../../../src/kit/index.ts';
import { pack } from '../../../src/queue/forwarded.ts';
import { useDatabase, WAIT } from '../database.ts';
import { claimRequest } from '../new-event.ts';
import { consumeInNode, FakeMessage } from './in-node.ts';

const database = useDatabase();
const handler = defineHandler({ handle: () => [] });

const forwarded = async (id: string, deliveries: number) =>
  new FakeMessage(id, deliveries, await pack(claimRequest([id], { receivedAt: new Date() })));
const states = () => database.sql('select event_id, status from webhooks.events order by 1');

beforeEach(() => {
  database.stack.neon.fault = undefined;
});

it('a dead letter that kills its isolate keeps no other from being settled, neither the first time nor later', async () => {
  await claim(database.consumer, claimRequest(['dead_1', 'dead_2'], { receivedAt: new Date() }));
  // The claim of this one never returns, as if the isolate had died in it.
  database.stack.neon.fault = ({ params }) =>
    JSON.stringify(params).includes('killer') ? { kind: 'slow', ms: 60_000 } : undefined;
  const deliver = async (...messages: FakeMessage[]) => {
    const others = messages.filter(({ id }) => id !== 'killer');
    void consumeInNode(messages, handler, database.stack.workerUrls.consumer, { queue: 'events-dead' });
    await expect.poll(() => others.map(({ settled }) => settled), WAIT).toEqual(others.map(() => 'acked'));
  };
  await deliver(await forwarded('killer', 1), new FakeMessage('dead_1'));
  // Delivered again: the killer has been delivered more often.
  await deliver(await forwarded('killer', 3), await forwarded('good', 2), new FakeMessage('dead_2', 2));
  expect(await states()).toEqual([
    { event_id: 'dead_1', status: 'parked' },
    { event_id: 'dead_2', status: 'parked' },
    { event_id: 'good', status: 'pending' },
  ]);
});
