import { expect, it } from 'vitest';
import { useApp } from '../kit.ts';

const app = useApp();

it('a placed order is done', async () => {
  const event = await app.deliver('orders', 'order.placed');
  expect(event).toMatchObject({ status: 'done', error: null, effects: [] });
});
