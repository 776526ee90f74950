import { jose } from '../verify/jose.ts';
import { defineProvider } from './define.ts';

export const googlePubsub = defineProvider({
  name: 'google-pubsub',
  docs: 'https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions',
  scheme: jose({
    signature: 'header:authorization',
    prefix: 'Bearer ',
    algorithm: 'RS256',
    // Google signs tokens for everybody, with any audience, so only the account proves that a token belongs to your
    // subscription.
    settings: { audience: /^[!-~]{1,512}$/, email: /^[^@\s]+@[\w.-]+$/ },
    keys: { jwks: 'https://www.googleapis.com/oauth2/v3/certs' },
    claims: [
      { at: 'jws:iss', is: 'https://accounts.google.com' },
      { at: 'jws:aud', is: '{audience}' },
      { at: 'jws:email', is: '{email}' },
      { at: 'jws:email_verified', is: 'true' },
      { at: 'jws:exp' },
    ],
    // A token is valid for an hour.
    timestamp: { at: 'jws:iat', unit: 's', windowSeconds: 3660 },
  }),
  // The token identifies the sender but doesn't cover the body. `deliveryAttempt` changes with each retry.
  id: { at: '{json:subscription}:{json:message.messageId}', signed: false, retriesDiffer: true },
  // The type of a Google Play or Cloud Storage event, or the publisher's attribute. Messages without one share a single
  // type.
  type: [
    'subscription.{inner:message.data#subscriptionNotification.notificationType}',
    'one_time_product.{inner:message.data#oneTimeProductNotification.notificationType}',
    'voided_purchase.{inner:message.data#voidedPurchaseNotification.productType}',
    '{json:message.attributes.eventType}',
    '{json:message.attributes.type}',
    'message',
  ],
  occurredAt: [
    { at: 'inner:message.data#eventTimeMillis', unit: 'ms' },
    { at: 'json:message.publishTime', unit: 'iso' },
  ],
  // Pub/Sub limits a message to 10 MB before base64.
  maxBytes: 5 * 1024 * 1024,
  retriesForDays: 7,
});
