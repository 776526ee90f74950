import { defineEffect } from 'claimcheck';

interface Receipt {
  readonly to: string;
  readonly invoice: string;
  readonly amount: string;
  readonly currency: string;
}

/** Asks the mail service for a receipt. A repeat carries the same key, so that the service can send it once. */
export const receipt = defineEffect<Receipt>({
  send: (payload, { key, env, fetch, signal }) =>
    fetch(`${env.RECEIPTS_URL}/receipts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(payload),
      signal,
    }),
});
