import * as v from 'valibot';
import { defineHandler } from '#kit';

const OrderPlaced = v.object({ id: v.string() });

export const orderPlaced = defineHandler({
  schema: OrderPlaced,
  handle: () => [
    // Return what to change: statements on your tables, and effects. They commit together with the event.
  ],
});
