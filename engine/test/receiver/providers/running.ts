import { expect } from 'vitest';
import { madeUpSecrets, signingKeyName } from '../../../cli/config/dev-vars.ts';
import type { NewEvent } from '../../../src/db/claim.ts';
import type { Source } from '../../../src/kit/index.ts';
import { hasUnsignedIds } from '../../../src/receiver/identify.ts';
import { secretName } from '../../../src/receiver/secrets.ts';
import { deliver, type Sent, type Wanted } from '../../verify/deliveries.ts';
import { startReceiver } from '../in-node.ts';
import { outcomesOf } from './checks.ts';
import { sources, toldUrl } from './sources.ts';

/** Receivers with every provider as a source, without Postgres: what is verified goes on a queue. */
export function useProviders(overrides: Record<string, string> = {}) {
  const env: Record<string, string> = { ...madeUpSecrets(sources), ...overrides };
  const start = () => {
    const receiver = startReceiver({ sources, env });
    return {
      ...receiver,
      /** As it was signed, to the source of this name. */
      deliver: async (source: string, { headers, text, url }: Sent) =>
        receiver.send(source + new URL(url).search, { headers, body: text }),
    };
  };
  return {
    env,
    start,
    /** A provider's sample of this moment, signed with the keys of its source. */
    sample: (name: string, { source = name, ...wanted }: Wanted & { source?: string } = {}) => {
      const secret = env[secretName(source)] ?? '';
      const keys = { secret, signingKey: env[signingKeyName(source)] ?? secret };
      const url = sources[source]?.url ? toldUrl(source) : `https://example.com/webhooks/${source}`;
      return deliver(name, { keys, now: new Date(), url, ...wanted });
    },
    /** What becomes of deliveries of a source. */
    outcomesOf: async (source: string, deliveries: readonly Sent[]): Promise<string[]> => {
      const claims: (readonly NewEvent[])[] = [];
      for (const sent of deliveries) {
        const receiver = start();
        expect((await receiver.deliver(source, sent)).ok).toBe(true);
        claims.push(await receiver.events());
      }
      return outcomesOf(claims, hasUnsignedIds(sources[source] as Source));
    },
  };
}
