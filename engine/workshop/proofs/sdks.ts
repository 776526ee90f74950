/**
 * The packages that judge our signatures on every test run, by provider. The tests call exactly these
 * (engine/test/receiver/providers/oracles.ts), and docs/providers.md names them as proof.
 */
export const sdks = {
  clerk: { sdk: '@clerk/backend', signs: false },
  'coinbase-cdp': { sdk: 'hook0-client', signs: false },
  contentful: { sdk: '@contentful/node-apps-toolkit', signs: true },
  discord: { sdk: 'discord-interactions', signs: false },
  github: { sdk: '@octokit/webhooks-methods', signs: true },
  gitlab: { sdk: 'standardwebhooks', signs: true },
  linear: { sdk: '@linear/sdk', signs: false },
  meta: { sdk: 'whatsapp-api-js', signs: false, by: 'others' },
  mollie: { sdk: 'mollie-api-typescript', signs: true },
  notion: { sdk: '@notionhq/client', signs: true },
  openai: { sdk: 'openai', signs: false },
  paddle: { sdk: '@paddle/paddle-node-sdk', signs: false },
  razorpay: { sdk: 'razorpay', signs: false },
  resend: { sdk: 'resend', signs: false },
  sendgrid: { sdk: '@sendgrid/eventwebhook', signs: false },
  shopify: { sdk: '@shopify/shopify-api', signs: false },
  slack: { sdk: '@slack/bolt', signs: false },
  standardwebhooks: { sdk: 'standardwebhooks', signs: true },
  stripe: { sdk: 'stripe', signs: true },
  svix: { sdk: 'standardwebhooks', signs: true },
  twilio: { sdk: 'twilio', signs: true },
  workos: { sdk: '@workos-inc/node', signs: true },
  zoom: { sdk: '@zoom/rivet', signs: false },
} as const satisfies Record<string, SdkProof>;

export interface SdkProof {
  /** The package, as pinned in engine/workshop/package.json. */
  readonly sdk: string;
  /** Whether the package can also sign for us. One that only has the public key can't. */
  readonly signs: boolean;
  /** A widely used package that is neither the provider's own nor that of the standard which the provider follows. */
  readonly by?: 'others';
}
