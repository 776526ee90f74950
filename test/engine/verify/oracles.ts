// The providers' own SDKs, asked whether our signatures are right, and asked to sign for us where they can.
import { signWebhookPayload, verifyWebhookSignature } from '@notionhq/client';
import { sign as signGithub, verify as verifyGithub } from '@octokit/webhooks-methods';
import sendgrid from '@sendgrid/eventwebhook';
import { WorkOS } from '@workos-inc/node';
import { verifyKey } from 'discord-interactions';
import { Resend } from 'resend';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import type { Sent } from './deliveries.ts';

export interface Oracle {
  /** The package, as pinned in package.json. */
  readonly sdk: string;
  readonly accepts: (sent: Sent) => boolean | Promise<boolean>;
  /** The headers it would send with this body. Not every SDK signs: where there is a pair of keys, none can. */
  readonly signs?: (sent: Sent) => Record<string, string> | Promise<Record<string, string>>;
}

const header = (sent: Sent, name: string) => sent.headers.get(name) ?? '';

/** The SDKs look at the clock themselves, so all of this happens now. */
const nowSeconds = () => Math.floor(Date.now() / 1000);

async function passes(verify: () => unknown): Promise<boolean> {
  try {
    await verify();
    return true;
  } catch {
    return false;
  }
}

/** Standard Webhooks, under either set of header names: the SDK takes both. */
function standard(sdk: string, prefix: 'svix' | 'webhook'): Oracle {
  return {
    sdk,
    accepts: (sent) => passes(() => new Webhook(sent.keys.secret).verify(sent.text, Object.fromEntries(renamed(sent)))),
    signs: (sent) => ({
      [`${prefix}-id`]: header(sent, `${prefix}-id`),
      [`${prefix}-timestamp`]: String(nowSeconds()),
      [`${prefix}-signature`]: new Webhook(sent.keys.secret).sign(header(sent, `${prefix}-id`), new Date(), sent.text),
    }),
  };
}

function renamed(sent: Sent): [string, string][] {
  return [...sent.headers].map(([name, value]) => [name.replace(/^svix-/, 'webhook-'), value]);
}

const resend = new Resend('no key is needed to verify');
const { webhooks: workos } = new WorkOS('no key is needed to verify');

export const oracles: Readonly<Record<string, Oracle>> = {
  standardwebhooks: standard('standardwebhooks', 'webhook'),
  openai: standard('standardwebhooks', 'webhook'),
  svix: standard('standardwebhooks', 'svix'),
  clerk: standard('standardwebhooks', 'svix'),
  resend: {
    sdk: 'resend',
    accepts: (sent) =>
      passes(() =>
        resend.webhooks.verify({
          payload: sent.text,
          headers: {
            id: header(sent, 'svix-id'),
            timestamp: header(sent, 'svix-timestamp'),
            signature: header(sent, 'svix-signature'),
          },
          webhookSecret: sent.keys.secret,
        }),
      ),
  },
  stripe: {
    sdk: 'stripe',
    accepts: ({ text, headers, keys }) =>
      passes(() => Stripe.webhooks.constructEventAsync(text, headers.get('stripe-signature') ?? '', keys.secret)),
    signs: async ({ text, keys }) => {
      const signed = { payload: text, secret: keys.secret, timestamp: nowSeconds() };
      return { 'stripe-signature': await Stripe.webhooks.generateTestHeaderStringAsync(signed) };
    },
  },
  github: {
    sdk: '@octokit/webhooks-methods',
    accepts: (sent) => verifyGithub(sent.keys.secret, sent.text, header(sent, 'x-hub-signature-256')),
    signs: async ({ text, keys }) => ({ 'x-hub-signature-256': await signGithub(keys.secret, text) }),
  },
  notion: {
    sdk: '@notionhq/client',
    accepts: (sent) =>
      verifyWebhookSignature({
        body: sent.body,
        signature: header(sent, 'x-notion-signature'),
        verificationToken: sent.keys.secret,
      }),
    signs: async ({ text, keys }) => ({
      'x-notion-signature': await signWebhookPayload({ body: text, verificationToken: keys.secret }),
    }),
  },
  workos: {
    sdk: '@workos-inc/node',
    accepts: ({ text, headers, keys }) =>
      passes(() =>
        workos.verifyHeader({ payload: text, sigHeader: headers.get('workos-signature') ?? '', secret: keys.secret }),
      ),
    signs: async ({ text, keys }) => {
      const time = Date.now();
      return { 'workos-signature': `t=${time}, v1=${await workos.computeSignature(time, text, keys.secret)}` };
    },
  },
  discord: {
    sdk: 'discord-interactions',
    accepts: (sent) =>
      verifyKey(
        Uint8Array.from(sent.body),
        header(sent, 'x-signature-ed25519'),
        header(sent, 'x-signature-timestamp'),
        sent.keys.secret,
      ),
  },
  sendgrid: {
    sdk: '@sendgrid/eventwebhook',
    accepts: (sent) => {
      const { EventWebhook } = sendgrid;
      const webhook = new EventWebhook();
      return webhook.verifySignature(
        webhook.convertPublicKeyToECDSA(sent.keys.secret),
        sent.text,
        header(sent, 'x-twilio-email-event-webhook-signature'),
        header(sent, 'x-twilio-email-event-webhook-timestamp'),
      );
    },
  },
};
