import { adyen } from './adyen.ts';
import { airtable } from './airtable.ts';
import { apple } from './apple.ts';
import { asana } from './asana.ts';
import { auth0 } from './auth0.ts';
import { awardee } from './awardee.ts';
import { awsSns } from './aws-sns.ts';
import { bitbucket } from './bitbucket.ts';
import { calcom } from './calcom.ts';
import { calendly } from './calendly.ts';
import { chargebee } from './chargebee.ts';
import { clerk } from './clerk.ts';
import { coinbaseCdp } from './coinbase-cdp.ts';
import { contentful } from './contentful.ts';
import { discord } from './discord.ts';
import { docusign } from './docusign.ts';
import { dropbox } from './dropbox.ts';
import { gethook } from './gethook.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';
import { googlePubsub } from './google-pubsub.ts';
import { hubspotV3 } from './hubspot-v3.ts';
import { intercom } from './intercom.ts';
import { jira } from './jira.ts';
import { kinde } from './kinde.ts';
import { lemonsqueezy } from './lemonsqueezy.ts';
import { linear } from './linear.ts';
import { mailgun } from './mailgun.ts';
import { meta } from './meta.ts';
import { microsoftGraph } from './microsoft-graph.ts';
import { mollie } from './mollie.ts';
import { mollieClassic } from './mollie-classic.ts';
import { netlify } from './netlify.ts';
import { notion } from './notion.ts';
import { openai } from './openai.ts';
import { paddle } from './paddle.ts';
import { pagerduty } from './pagerduty.ts';
import { paypal } from './paypal.ts';
import { plaid } from './plaid.ts';
import { postmark } from './postmark.ts';
import { razorpay } from './razorpay.ts';
import { resend } from './resend.ts';
import { revenuecat } from './revenuecat.ts';
import { sendgrid } from './sendgrid.ts';
import { sentry } from './sentry.ts';
import { sesmetric } from './sesmetric.ts';
import { shopify } from './shopify.ts';
import { slack } from './slack.ts';
import { square } from './square.ts';
import { standardwebhooks } from './standardwebhooks.ts';
import { stripe } from './stripe.ts';
import { supabase } from './supabase.ts';
import { svix } from './svix.ts';
import { telegram } from './telegram.ts';
import { twilio } from './twilio.ts';
import { twitch } from './twitch.ts';
import { typeform } from './typeform.ts';
import type { Provider } from './types.ts';
import { vercel } from './vercel.ts';
import { woocommerce } from './woocommerce.ts';
import { workos } from './workos.ts';
import { xero } from './xero.ts';
import { zendesk } from './zendesk.ts';
import { zoom } from './zoom.ts';

export type { Provider } from './types.ts';

/**
 * For scripts and tests. A Worker imports individual provider files instead, so that its bundle contains only those.
 */
export const providers: Readonly<Record<string, Provider>> = {
  adyen,
  airtable,
  apple,
  asana,
  auth0,
  awardee,
  'aws-sns': awsSns,
  bitbucket,
  calcom,
  calendly,
  chargebee,
  clerk,
  'coinbase-cdp': coinbaseCdp,
  contentful,
  discord,
  docusign,
  dropbox,
  gethook,
  github,
  gitlab,
  'google-pubsub': googlePubsub,
  'hubspot-v3': hubspotV3,
  intercom,
  jira,
  kinde,
  lemonsqueezy,
  linear,
  mailgun,
  meta,
  'microsoft-graph': microsoftGraph,
  mollie,
  'mollie-classic': mollieClassic,
  netlify,
  notion,
  openai,
  paddle,
  pagerduty,
  paypal,
  plaid,
  postmark,
  razorpay,
  resend,
  revenuecat,
  sendgrid,
  sentry,
  sesmetric,
  shopify,
  slack,
  square,
  standardwebhooks,
  stripe,
  supabase,
  svix,
  telegram,
  twilio,
  twitch,
  typeform,
  vercel,
  woocommerce,
  workos,
  xero,
  zendesk,
  zoom,
};
