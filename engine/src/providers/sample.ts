/**
 * A small, plausible delivery of a provider. `{signature}` and `{token}` are filled in the headers and, if the provider
 * expects them there, in the JSON. `{timestamp}`, `{id}` and `{type}` are filled in the headers only.
 */
export interface Sample {
  readonly types: readonly [string, ...string[]];
  readonly id: () => string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: (id: string, type: string, now: Date) => object;
}

/** Missing properties are made from the provider's data (engine/cli/samples/samples.ts). */
export type ProviderSample = Partial<Sample>;

export const short = () => crypto.randomUUID().replaceAll('-', '').slice(0, 24);
export const number = () => String(Math.floor(Math.random() * 1e9) + 1e9);
export const seconds = (now: Date) => Math.floor(now.getTime() / 1000);
export const PERSON = 'customer@example.com';

/** The headers of Standard Webhooks, and Svix's older names for them. */
export const standardHeaders = {
  'webhook-id': '{id}',
  'webhook-timestamp': '{timestamp}',
  'webhook-signature': 'v1,{signature}',
};
export const svixHeaders = { 'svix-id': '{id}', 'svix-timestamp': '{timestamp}', 'svix-signature': 'v1,{signature}' };
