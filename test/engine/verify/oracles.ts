// The providers' own SDKs. They judge whether our signatures are right, and those that can sign also sign for us.
import { signWebhookPayload, verifyWebhookSignature } from '@notionhq/client';
import { sign as signGithub, verify as verifyGithub } from '@octokit/webhooks-methods';
import sendgrid from '@sendgrid/eventwebhook';
import { WorkOS } from '@workos-inc/node';
import { verifyKey } from 'discord-interactions';
import { Resend } from 'resend';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import type { sdks } from '../../../workshop/proofs/sdks.ts';
import type { Sent } from './deliveries.ts';

export interface Oracle {
  readonly accepts: (sent: Sent) => boolean | Promise<boolean>;
  /** The headers that the SDK would send with this body. An SDK that only has the public key can't sign. */
  readonly signs?: (sent: Sent) => Record<string, string> | Promise<Record<string, string>>;
}

const header = (sent: Sent, name: string) => sent.headers.get(name) ?? '';

/** The SDKs read the clock themselves, so these deliveries are signed with the current time. */
const nowSeconds = () => Math.floor(Date.now() / 1000);

async function passes(verify: () => unknown): Promise<boolean> {
  try {
    await verify();
    return true;
  } catch {
    return false;
  }
}

/** The SDK of Standard Webhooks accepts both sets of header names. */
function standard(prefix: 'svix' | 'webhook'): Oracle {
  return {
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

/** One for each entry of `sdks`, so that docs/providers.md names no SDK that the tests don't call. */
export const oracles: Readonly<Record<keyof typeof sdks, Oracle>> = {
  standardwebhooks: standard('webhook'),
  openai: standard('webhook'),
  svix: standard('svix'),
  clerk: standard('svix'),
  resend: {
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
    accepts: ({ text, headers, keys }) =>
      passes(() => Stripe.webhooks.constructEventAsync(text, headers.get('stripe-signature') ?? '', keys.secret)),
    signs: async ({ text, keys }) => {
      const signed = { payload: text, secret: keys.secret, timestamp: nowSeconds() };
      return { 'stripe-signature': await Stripe.webhooks.generateTestHeaderStringAsync(signed) };
    },
  },
  github: {
    accepts: (sent) => verifyGithub(sent.keys.secret, sent.text, header(sent, 'x-hub-signature-256')),
    signs: async ({ text, keys }) => ({ 'x-hub-signature-256': await signGithub(keys.secret, text) }),
  },
  notion: {
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
    accepts: (sent) =>
      verifyKey(
        Uint8Array.from(sent.body),
        header(sent, 'x-signature-ed25519'),
        header(sent, 'x-signature-timestamp'),
        sent.keys.secret,
      ),
  },
  sendgrid: {
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
