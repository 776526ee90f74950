// 'claimcheck/reconcile' asks providers what they have sent. It is a separate entry, so that only apps that use it
// bundle it.
export { defineReconcile } from './define.ts';
export { githubDeliveries } from './github-deliveries.ts';
export type { ListedDeliveries, ListedDelivery, ListedEvents, ReconcileTools, ReconcileWindow } from './kinds.ts';
export { stripeEvents } from './stripe-events.ts';
