import { defineHandler } from 'claimcheck';
import * as v from 'valibot';

const OrderPlaced = v.object({ id: v.string() });

export const orderPlaced = defineHandler({
  schema: OrderPlaced,
  handle: () => [
    // Return what to change: statements on your tables, and effects. They commit together with the event.
  ],
});
