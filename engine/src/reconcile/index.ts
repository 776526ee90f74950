// 'claimcheck/reconcile': asks providers what they have sent. An entry of its own, so that only an app that uses it bundles it.
export { defineReconcile } from './define.ts';
export { githubDeliveries } from './github-deliveries.ts';
export type { ListedDeliveries, ListedDelivery, ListedEvents, ReconcileTools, ReconcileWindow } from './kinds.ts';
export { stripeEvents } from './stripe-events.ts';
