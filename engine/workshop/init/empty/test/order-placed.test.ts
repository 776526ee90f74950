import { useApp } from 'claimcheck/testing';
import { expect, it } from 'vitest';

const app = useApp();

it('a placed order is done', async () => {
  const event = await app.deliver('orders', 'order.placed');
  expect(event).toMatchObject({ status: 'done', error: null, effects: [] });
});
