// Signatures by code that isn't ours: the providers' own SDKs, and for in-house senders node:crypto.
import { createHmac, randomUUID } from 'node:crypto';
import { sign as signGithub } from '@octokit/webhooks-methods';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';

export interface SignedDelivery {
  headers: Record<string, string>;
  body: string;
}

export interface Options {
  secret: string;
  now?: Date;
  id?: string;
  type?: string;
}

export type Name = 'stripe' | 'github' | 'standardwebhooks' | 'sesmetric' | 'awardee' | 'gethook';

type Signer = (body: string, options: Options) => SignedDelivery | Promise<SignedDelivery>;

const seconds = (now = new Date()) => Math.floor(now.getTime() / 1000);
const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex');

export const signers: Record<Name, Signer> = {
  stripe: async (body, { secret, now }) => {
    const signed = { payload: body, secret, timestamp: seconds(now) };
    return { body, headers: { 'stripe-signature': await Stripe.webhooks.generateTestHeaderStringAsync(signed) } };
  },
  github: async (body, { secret, id = randomUUID(), type = 'push' }) => ({
    body,
    headers: {
      'x-github-delivery': id,
      'x-github-event': type,
      'x-hub-signature-256': await signGithub(secret, body),
    },
  }),
  standardwebhooks: (body, { secret, now = new Date(), id = `msg_${randomUUID()}` }) => ({
    body,
    headers: {
      'webhook-id': id,
      'webhook-timestamp': String(seconds(now)),
      'webhook-signature': new Webhook(secret).sign(id, now, body),
    },
  }),
  sesmetric: (body, { secret, now }) => ({
    body,
    headers: {
      'x-sesmetric-timestamp': String(seconds(now)),
      'x-sesmetric-signature': hmac(secret, `${seconds(now)}.${body}`),
    },
  }),
  awardee: (body, { secret, id = randomUUID(), type = 'nomination.created' }) => ({
    body,
    headers: { 'x-awardee-delivery': id, 'x-awardee-event': type, 'x-awardee-signature': hmac(secret, body) },
  }),
  gethook: (body, { secret }) => ({ body, headers: { 'x-gethook-signature': hmac(secret, body) } }),
};
