import { sample as adyen } from './adyen.sample.ts';
import { sample as airtable } from './airtable.sample.ts';
import { sample as asana } from './asana.sample.ts';
import { sample as auth0 } from './auth0.sample.ts';
import { sample as bitbucket } from './bitbucket.sample.ts';
import { sample as calcom } from './calcom.sample.ts';
import { sample as calendly } from './calendly.sample.ts';
import { sample as chargebee } from './chargebee.sample.ts';
import { sample as clerk } from './clerk.sample.ts';
import { sample as coinbaseCdp } from './coinbase-cdp.sample.ts';
import { sample as coinbaseCommerce } from './coinbase-commerce.sample.ts';
import { sample as contentful } from './contentful.sample.ts';
import { sample as discord } from './discord.sample.ts';
import { sample as docusign } from './docusign.sample.ts';
import { sample as dropbox } from './dropbox.sample.ts';
import { sample as github } from './github.sample.ts';
import { sample as gitlab } from './gitlab.sample.ts';
import { sample as hubspotV3 } from './hubspot-v3.sample.ts';
import { sample as intercom } from './intercom.sample.ts';
import { sample as lemonsqueezy } from './lemonsqueezy.sample.ts';
import { sample as linear } from './linear.sample.ts';
import { sample as mailgun } from './mailgun.sample.ts';
import { sample as meta } from './meta.sample.ts';
import { sample as mollie } from './mollie.sample.ts';
import { sample as mollieClassic } from './mollie-classic.sample.ts';
import { sample as notion } from './notion.sample.ts';
import { sample as openai } from './openai.sample.ts';
import { sample as paddle } from './paddle.sample.ts';
import { sample as pagerduty } from './pagerduty.sample.ts';
import { sample as postmark } from './postmark.sample.ts';
import { sample as razorpay } from './razorpay.sample.ts';
import { sample as resend } from './resend.sample.ts';
import type { ProviderSample } from './sample.ts';
import { sample as sendgrid } from './sendgrid.sample.ts';
import { sample as sentry } from './sentry.sample.ts';
import { sample as sesmetric } from './sesmetric.sample.ts';
import { sample as shopify } from './shopify.sample.ts';
import { sample as slack } from './slack.sample.ts';
import { sample as square } from './square.sample.ts';
import { sample as standardwebhooks } from './standardwebhooks.sample.ts';
import { sample as stripe } from './stripe.sample.ts';
import { sample as svix } from './svix.sample.ts';
import { sample as twilio } from './twilio.sample.ts';
import { sample as typeform } from './typeform.sample.ts';
import { sample as woocommerce } from './woocommerce.sample.ts';
import { sample as workos } from './workos.sample.ts';
import { sample as xero } from './xero.sample.ts';
import { sample as zoom } from './zoom.sample.ts';

/** By the provider's name. A provider without one gets a delivery that is made from its data (engine/cli/samples/samples.ts). */
export const samples: Readonly<Record<string, ProviderSample>> = {
  adyen,
  airtable,
  asana,
  auth0,
  bitbucket,
  calcom,
  calendly,
  chargebee,
  clerk,
  'coinbase-cdp': coinbaseCdp,
  'coinbase-commerce': coinbaseCommerce,
  contentful,
  discord,
  docusign,
  dropbox,
  github,
  gitlab,
  'hubspot-v3': hubspotV3,
  intercom,
  lemonsqueezy,
  linear,
  mailgun,
  meta,
  mollie,
  'mollie-classic': mollieClassic,
  notion,
  openai,
  paddle,
  pagerduty,
  postmark,
  razorpay,
  resend,
  sendgrid,
  sentry,
  sesmetric,
  shopify,
  slack,
  square,
  standardwebhooks,
  stripe,
  svix,
  twilio,
  typeform,
  woocommerce,
  workos,
  xero,
  zoom,
};
