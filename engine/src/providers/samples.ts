import { sample as adyen } from './adyen.sample.ts';
import { sample as coinbaseCdp } from './coinbase-cdp.sample.ts';
import { sample as contentful } from './contentful.sample.ts';
import { sample as github } from './github.sample.ts';
import { sample as gitlab } from './gitlab.sample.ts';
import { sample as linear } from './linear.sample.ts';
import { sample as mailgun } from './mailgun.sample.ts';
import { sample as meta } from './meta.sample.ts';
import { sample as postmark } from './postmark.sample.ts';
import { number, PERSON, type ProviderSample, short, standardHeaders, svixHeaders } from './sample.ts';
import { sample as sendgrid } from './sendgrid.sample.ts';
import { sample as shopify } from './shopify.sample.ts';
import { sample as stripe } from './stripe.sample.ts';
import { sample as twilio } from './twilio.sample.ts';

/**
 * Samples by provider name. For all other providers, a sample with everything that the receiver reads is made from the
 * data (engine/cli/samples/samples.ts). The headers below have the format that the provider's own SDK expects.
 */
export const samples: Readonly<Record<string, ProviderSample>> = {
  adyen,
  apple: {
    types: ['SUBSCRIBED.INITIAL_BUY'],
    body: (id, type, now) => ({
      notificationType: type,
      notificationUUID: id,
      signedDate: now.getTime(),
      data: { bundleId: 'com.example.app', environment: 'Sandbox' },
    }),
  },
  'aws-sns': {
    types: ['Notification'],
    body: (id, type, now) => ({
      Type: type,
      MessageId: id,
      TopicArn: 'arn:aws:sns:us-east-1:123456789012:sample',
      Subject: 'Sample',
      Message: `sample ${id}`,
      Timestamp: now.toISOString(),
    }),
  },
  clerk: { headers: svixHeaders },
  'coinbase-cdp': coinbaseCdp,
  contentful,
  github,
  gitlab,
  'google-pubsub': {
    types: ['OBJECT_FINALIZE'],
    id: number,
    body: (id, eventType, now) => ({
      subscription: 'projects/sample/subscriptions/sample',
      message: { messageId: id, publishTime: now.toISOString(), attributes: { eventType }, data: btoa(`sample ${id}`) },
    }),
  },
  kinde: {
    types: ['user.created'],
    id: () => `event_${short()}`,
    body: (id, type, now) => ({
      type,
      event_id: id,
      event_timestamp: now.toISOString(),
      source: 'admin',
      data: { user: { id: `kp_${short()}`, email: PERSON } },
    }),
  },
  linear,
  mailgun,
  meta,
  openai: { headers: standardHeaders },
  paddle: { headers: { 'paddle-signature': 'ts={timestamp};h1={signature}' } },
  paypal: {
    headers: {
      'paypal-transmission-id': '{id}',
      'paypal-transmission-time': '{timestamp}',
      'paypal-transmission-sig': '{signature}',
    },
  },
  postmark,
  resend: { headers: svixHeaders },
  sendgrid,
  shopify,
  standardwebhooks: { headers: standardHeaders },
  stripe,
  svix: { headers: svixHeaders },
  twilio,
};
