/**
 * The SDKs that judge our signatures on every test run, by provider. The tests call exactly these
 * (test/engine/verify/oracles.ts), and docs/providers.md names them as proof.
 */
export const sdks = {
  standardwebhooks: { sdk: 'standardwebhooks', signs: true },
  openai: { sdk: 'standardwebhooks', signs: true },
  svix: { sdk: 'standardwebhooks', signs: true },
  clerk: { sdk: 'standardwebhooks', signs: true },
  resend: { sdk: 'resend', signs: false },
  stripe: { sdk: 'stripe', signs: true },
  github: { sdk: '@octokit/webhooks-methods', signs: true },
  notion: { sdk: '@notionhq/client', signs: true },
  workos: { sdk: '@workos-inc/node', signs: true },
  discord: { sdk: 'discord-interactions', signs: false },
  sendgrid: { sdk: '@sendgrid/eventwebhook', signs: false },
} as const satisfies Record<string, SdkProof>;

export interface SdkProof {
  /** The package, as pinned in package.json. */
  readonly sdk: string;
  /** Whether the SDK can also sign for us. An SDK that only has the public key can't. */
  readonly signs: boolean;
}
