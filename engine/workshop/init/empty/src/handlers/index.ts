// YOURS: what an event does. One file per handler, and one line here.

import { defineHandlers } from 'claimcheck';
import { sources } from '../sources.ts';
import { orderPlaced } from './order-placed.ts';

export const handlers = defineHandlers(sources, {
  orders: { 'order.placed': orderPlaced },
});
