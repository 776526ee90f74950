// The providers' own SDKs, and a few packages of others. They judge whether our signatures are right, and those that can
// sign also sign for us.

import '@shopify/shopify-api/adapters/web-api';
import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { EventEmitter } from 'node:events';
import https from 'node:https';
import { verifyWebhook } from '@clerk/backend/webhooks';
import { signRequest, verifyRequest } from '@contentful/node-apps-toolkit';
import { decodeWebhook } from '@kinde/webhooks';
import { LinearWebhookClient } from '@linear/sdk/webhooks';
import { signWebhookPayload, verifyWebhookSignature } from '@notionhq/client';
import { sign as signGithub, verify as verifyGithub } from '@octokit/webhooks-methods';
import { Paddle, WebhooksValidator } from '@paddle/paddle-node-sdk';
import sendgrid from '@sendgrid/eventwebhook';
import { ApiVersion, LogSeverity, shopifyApi } from '@shopify/shopify-api';
import { isValidSlackRequest } from '@slack/bolt';
import { WorkOS } from '@workos-inc/node';
import { AwsLambdaReceiver } from '@zoom/rivet/meetings';
import { verifyKey } from 'discord-interactions';
import { OAuth2Client } from 'google-auth-library';
import { verifyWebhookSignature as verifyHook0 } from 'hook0-client';
import jsonwebtoken from 'jsonwebtoken';
import { SignatureValidator } from 'mollie-api-typescript';
import OpenAI from 'openai';
import { validateWebhookSignature } from 'razorpay/dist/utils/razorpay-utils.js';
import { Resend } from 'resend';
import SnsValidator from 'sns-validator';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import twilio from 'twilio';
import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js';
import { vi } from 'vitest';
import { WhatsAppAPI } from 'whatsapp-api-js';
import { type Sent, withBody, withHeaders } from '../../verify/deliveries.ts';

export interface Oracle {
  /** Some SDKs return whether they accept a delivery, and others throw if they don't. */
  readonly accepts: (sent: Sent) => unknown;
  /** The same delivery with a signature by the SDK. An SDK that only has the public key can't sign. */
  readonly signs?: (sent: Sent) => Sent | Promise<Sent>;
  /** Another body that the SDK must refuse. By default a space is added, but some SDKs write the JSON anew. */
  readonly changed?: (text: string) => string;
  /** Another delivery that the SDK must refuse, where the body is not signed. */
  readonly spoiled?: (sent: Sent) => Sent;
}

const header = (sent: Sent, name: string) => sent.headers.get(name) ?? '';

/** The SDKs read the clock themselves, so these deliveries are signed with the current time. */
const nowSeconds = () => Math.floor(Date.now() / 1000);

/** The SDK of Standard Webhooks accepts both sets of header names. */
function standard(prefix: 'svix' | 'webhook'): Oracle {
  return {
    accepts: (sent) => new Webhook(sent.keys.secret).verify(sent.text, Object.fromEntries(renamed(sent))),
    signs: (sent) => {
      const now = new Date();
      const id = header(sent, `${prefix}-id`);
      return withHeaders(sent, {
        [`${prefix}-id`]: id,
        [`${prefix}-timestamp`]: String(Math.floor(now.getTime() / 1000)),
        [`${prefix}-signature`]: new Webhook(sent.keys.secret).sign(id, now, sent.text),
      });
    },
  };
}

function renamed(sent: Sent): [string, string][] {
  return [...sent.headers].map(([name, value]) => [name.replace(/^svix-/, 'webhook-'), value]);
}

/** The public key in a secret that has one, and the private one in its signing key. */
const keyIn = (secret: string) => Buffer.from(/key:(\S+)/.exec(secret)?.[1] ?? '', 'base64');
const publicKeyOf = ({ keys }: Sent) => createPublicKey({ key: keyIn(keys.secret), type: 'spki', format: 'der' });
const privateKeyOf = ({ keys }: Sent) =>
  createPrivateKey({ key: keyIn(keys.signingKey), type: 'pkcs8', format: 'der' });

/** As the examples of Netlify's and Plaid's pages do it: a library for the token, and a comparison of the hash. */
const tokenWithHash = (
  name: string,
  claim: string,
  algorithm: 'HS256' | 'ES256',
  keyOf: { verify: (sent: Sent) => jsonwebtoken.Secret; sign: (sent: Sent) => jsonwebtoken.Secret },
  claims: object = {},
): Oracle => {
  const hashOf = ({ text }: Sent) => createHash('sha256').update(text).digest('hex');
  return {
    accepts: (sent) => {
      const verified = jsonwebtoken.verify(header(sent, name), keyOf.verify(sent), { algorithms: [algorithm] });
      return Reflect.get(Object(verified), claim) === hashOf(sent);
    },
    signs: (sent) => {
      const options = { algorithm, keyid: 'one' } as const;
      return withHeaders(sent, {
        [name]: jsonwebtoken.sign({ ...claims, [claim]: hashOf(sent) }, keyOf.sign(sent), options),
      });
    },
  };
};

const resend = new Resend('no key is needed to verify');
const { webhooks: workos } = new WorkOS('no key is needed to verify');
const openai = new OpenAI({ apiKey: 'no key is needed to verify' });
// It tells its SDK which runtime this is.
new Paddle('no key is needed to verify');

const canonicalRequest = (sent: Sent, headers: Record<string, string>) => {
  const { pathname, search } = new URL(sent.url);
  return { method: 'POST' as const, path: pathname + search, headers, body: sent.text };
};

/** One for each proof with an SDK, so that docs/providers.md names no SDK that the tests don't call. */
export const oracles: Readonly<Record<string, Oracle>> = {
  'aws-sns': {
    accepts: async (sent) => {
      // Node takes a public key where it takes a certificate.
      const certificate = publicKeyOf(sent).export({ type: 'spki', format: 'pem' });
      const get = vi.spyOn(https, 'get').mockImplementation(((_url: unknown, answer: (response: object) => void) => {
        const response = new EventEmitter();
        answer(Object.assign(response, { statusCode: 200 }));
        response.emit('data', certificate);
        response.emit('end');
        return new EventEmitter();
      }) as typeof https.get);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      // It keeps each certificate, and the tests make new ones.
      const text = sent.text.replace('sample.pem', `${crypto.randomUUID()}.pem`);
      new SnsValidator().validate(text, (error: unknown) => resolve(error === null));
      const accepted = await promise;
      get.mockRestore();
      return accepted;
    },
    changed: (text) => text.replace('"Subject":"', '"Subject":"x'),
  },
  clerk: {
    accepts: ({ url, headers, text, keys }) => {
      const request = new Request(url, { method: 'POST', headers, body: text });
      return verifyWebhook(request, { signingSecret: keys.secret });
    },
  },
  'coinbase-cdp': {
    // It returns its errors.
    accepts: (sent) =>
      verifyHook0(header(sent, 'x-hook0-signature'), Buffer.from(sent.body), sent.headers, sent.keys.secret, 300) ===
      true,
  },
  contentful: {
    accepts: (sent) => verifyRequest(sent.keys.secret, canonicalRequest(sent, Object.fromEntries(sent.headers))),
    // With a query, which the toolkit escapes before it signs.
    signs: (given) => {
      const sent = { ...given, url: `${given.url}?tenant=one&name=a%20b` };
      const topic = { 'x-contentful-topic': header(sent, 'x-contentful-topic') };
      const signed = signRequest(sent.keys.secret, canonicalRequest(sent, { ...topic }), Date.now());
      return withHeaders(sent, { ...topic, ...signed });
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
  github: {
    accepts: (sent) => verifyGithub(sent.keys.secret, sent.text, header(sent, 'x-hub-signature-256')),
    signs: async (sent) => withHeaders(sent, { 'x-hub-signature-256': await signGithub(sent.keys.secret, sent.text) }),
  },
  gitlab: standard('webhook'),
  'google-pubsub': {
    accepts: (sent) => {
      const certificates = { sample: publicKeyOf(sent).export({ type: 'spki', format: 'pem' }).toString() };
      const [audience = ''] = sent.keys.secret.split(' ');
      const token = header(sent, 'authorization').slice('Bearer '.length);
      return new OAuth2Client().verifySignedJwtWithCertsAsync(token, certificates, audience, [
        'https://accounts.google.com',
      ]);
    },
    spoiled: (sent) => withHeaders(sent, { authorization: header(sent, 'authorization').replace(/.{8}$/, 'AAAAAAAA') }),
  },
  kinde: {
    accepts: async (sent) => {
      const key = { ...publicKeyOf(sent).export({ format: 'jwk' }), kid: 'sample', alg: 'RS256' };
      const fetched = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => Response.json({ keys: [key] }));
      const decoded = await decodeWebhook(sent.text, sent.keys.secret.split(' ')[0]);
      fetched.mockRestore();
      return decoded !== null;
    },
    changed: (text) => text.replace(/.{8}$/, 'AAAAAAAA'),
  },
  linear: {
    accepts: (sent) =>
      new LinearWebhookClient(sent.keys.secret).verify(Buffer.from(sent.body), header(sent, 'linear-signature')),
  },
  meta: {
    accepts: (sent) => {
      const api = new WhatsAppAPI({ token: 'none', appSecret: sent.keys.secret, v: 'v24.0' });
      return api.verifyRequestSignature(sent.text, header(sent, 'x-hub-signature-256'));
    },
  },
  mollie: {
    accepts: (sent) => SignatureValidator.validate(sent.text, sent.keys.secret, header(sent, 'x-mollie-signature')),
    signs: async (sent) =>
      withHeaders(sent, {
        'x-mollie-signature': `sha256=${await SignatureValidator.createSignature(sent.text, sent.keys.secret)}`,
      }),
  },
  netlify: tokenWithHash(
    'x-webhook-signature',
    'sha256',
    'HS256',
    { verify: ({ keys }) => keys.secret, sign: ({ keys }) => keys.secret },
    { iss: 'netlify' },
  ),
  notion: {
    accepts: (sent) =>
      verifyWebhookSignature({
        body: sent.body,
        signature: header(sent, 'x-notion-signature'),
        verificationToken: sent.keys.secret,
      }),
    signs: async (sent) =>
      withHeaders(sent, {
        'x-notion-signature': await signWebhookPayload({ body: sent.text, verificationToken: sent.keys.secret }),
      }),
  },
  openai: {
    accepts: ({ text, headers, keys }) => openai.webhooks.verifySignature(text, headers, keys.secret),
  },
  paddle: {
    accepts: (sent) =>
      new WebhooksValidator().isValidSignature(sent.text, sent.keys.secret, header(sent, 'paddle-signature')),
  },
  plaid: tokenWithHash('plaid-verification', 'request_body_sha256', 'ES256', {
    verify: publicKeyOf,
    sign: privateKeyOf,
  }),
  razorpay: {
    accepts: (sent) => validateWebhookSignature(sent.text, header(sent, 'x-razorpay-signature'), sent.keys.secret),
  },
  resend: {
    accepts: (sent) =>
      resend.webhooks.verify({
        payload: sent.text,
        headers: {
          id: header(sent, 'svix-id'),
          timestamp: header(sent, 'svix-timestamp'),
          signature: header(sent, 'svix-signature'),
        },
        webhookSecret: sent.keys.secret,
      }),
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
  shopify: {
    accepts: async (sent) => {
      const shopify = shopifyApi({
        apiKey: 'none',
        apiSecretKey: sent.keys.secret,
        apiVersion: ApiVersion.July26,
        hostName: 'hooks.example.com',
        isEmbeddedApp: false,
        logger: { level: LogSeverity.Error },
      });
      const version = { 'x-shopify-api-version': '2026-07', 'shopify-api-version': '2026-07' };
      const headers = { ...Object.fromEntries(sent.headers), ...version };
      const rawRequest = new Request(sent.url, { method: 'POST', headers, body: sent.text });
      return (await shopify.webhooks.validate({ rawBody: sent.text, rawRequest })).valid;
    },
  },
  slack: {
    accepts: (sent) =>
      isValidSlackRequest({
        signingSecret: sent.keys.secret,
        body: sent.text,
        headers: {
          'x-slack-signature': header(sent, 'x-slack-signature'),
          'x-slack-request-timestamp': Number(header(sent, 'x-slack-request-timestamp')),
        },
      }),
  },
  standardwebhooks: standard('webhook'),
  stripe: {
    accepts: ({ text, headers, keys }) =>
      Stripe.webhooks.constructEventAsync(text, headers.get('stripe-signature') ?? '', keys.secret),
    signs: async (sent) => {
      const signed = { payload: sent.text, secret: sent.keys.secret, timestamp: nowSeconds() };
      return withHeaders(sent, { 'stripe-signature': await Stripe.webhooks.generateTestHeaderStringAsync(signed) });
    },
  },
  svix: standard('svix'),
  twilio: {
    accepts: (sent) =>
      twilio.validateRequest(
        sent.keys.secret,
        header(sent, 'x-twilio-signature'),
        sent.url,
        Object.fromEntries(new URLSearchParams(sent.text)),
      ),
    // A list of Event Streams, whose hash is in the URL.
    signs: (given) => {
      const sent = withBody(given, '[{"specversion":"1.0","id":"EZ1","source":"/v1","type":"com.twilio.sms"}]');
      const url = `${given.url}?bodySHA256=${createHash('sha256').update(sent.text).digest('hex')}`;
      const signature = getExpectedTwilioSignature(sent.keys.secret, url, {});
      return { ...withHeaders(sent, { 'x-twilio-signature': signature, 'content-type': 'application/json' }), url };
    },
    changed: (text) => `${text}&More=1`,
  },
  workos: {
    accepts: ({ text, headers, keys }) =>
      workos.verifyHeader({ payload: text, sigHeader: headers.get('workos-signature') ?? '', secret: keys.secret }),
    signs: async (sent) => {
      const time = Date.now();
      const signature = await workos.computeSignature(time, sent.text, sent.keys.secret);
      return withHeaders(sent, { 'workos-signature': `t=${time}, v1=${signature}` });
    },
  },
  zoom: {
    accepts: async (sent) => {
      const receiver = new AwsLambdaReceiver({ webhooksSecretToken: sent.keys.secret });
      receiver.init({ eventEmitter: { emit: async () => {} } } as unknown as Parameters<typeof receiver.init>[0]);
      const event = { body: sent.text, headers: Object.fromEntries(sent.headers), isBase64Encoded: false };
      const debug = vi.spyOn(console, 'debug').mockImplementation(() => {});
      const error = vi.spyOn(console, 'error').mockImplementation(() => {});
      const handle = receiver.start();
      const { statusCode } = await handle(event as Parameters<typeof handle>[0], {});
      debug.mockRestore();
      error.mockRestore();
      return statusCode === 200;
    },
    changed: (text) => text.replace('"event":"', '"event":"x'),
  },
};
