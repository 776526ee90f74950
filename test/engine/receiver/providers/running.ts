import { expect } from 'vitest';
import { madeUpSecrets, signingKeyName } from '../../../../scripts/config/dev-vars.ts';
import type { NewEvent } from '../../../../src/db/claim.ts';
import { secretName } from '../../../../src/receiver/secrets.ts';
import { type Running, useRunning } from '../../running.ts';
import { deliver, type Sent, type Wanted } from '../../verify/deliveries.ts';
import { startReceiver } from '../in-node.ts';
import { sources, toldUrl } from './sources.ts';

export interface RunningProviders extends Running {
  /** A provider's sample of this moment, signed with the keys of its source. */
  readonly sample: (name: string, wanted?: Wanted & { source?: string }) => Sent;
  readonly send: (name: string, sent: Sent) => Promise<Response>;
  /** What becomes of a delivery's event. Our own answer can't tell, because some providers get another one. */
  readonly outcomeOf: (source: string, sent: Sent) => Promise<'accepted' | 'parked' | 'duplicate'>;
}

interface Counts {
  readonly accepted: number;
  readonly parked: number;
}

/** The receiver with every provider as a source, and no consumer: what is claimed stays as it was claimed. */
export function useProviders(overrides: Record<string, string> = {}): RunningProviders {
  const running = useRunning({
    secrets: overrides,
    sources,
    receiver: 'test/engine/receiver/providers/wrangler.toml',
    consumer: undefined,
  });
  const keysOf = (source: string) => {
    const secret = running.workers.secrets[secretName(source)] ?? '';
    return { secret, signingKey: running.workers.secrets[signingKeyName(source)] ?? secret };
  };
  const countsOf = (source: string) =>
    running.sql<Counts>(
      `select count(*) filter (where status = 'pending')::int as accepted,
              count(*) filter (where status = 'parked')::int as parked
       from webhooks.events where source = $1`,
      [source],
    ) as Promise<[Counts]>;
  const send: RunningProviders['send'] = (source, { headers, text, url }) => {
    const { search } = new URL(url);
    return fetch(`${running.workers.url}webhooks/${source}${search}`, { method: 'POST', headers, body: text });
  };
  return Object.assign(Object.create(running) as Running, {
    sample: (name: string, { source = name, ...wanted }: Wanted & { source?: string } = {}) => {
      const url = sources[source]?.url ? toldUrl(source) : `${running.workers.url}webhooks/${source}`;
      return deliver(name, { keys: keysOf(source), now: new Date(), url, ...wanted });
    },
    send,
    outcomeOf: async (source: string, sent: Sent) => {
      const [before] = await countsOf(source);
      expect((await send(source, sent)).ok).toBe(true);
      const [after] = await countsOf(source);
      if (after.parked > before.parked) return 'parked';
      return after.accepted > before.accepted ? 'accepted' : 'duplicate';
    },
  });
}

/** The same in this process, without Postgres: what is verified goes on a queue. */
export function useProvidersInNode(overrides: Record<string, string> = {}) {
  const env: Record<string, string> = { ...madeUpSecrets(sources), ...overrides };
  const start = () => startReceiver({ sources, env });
  return {
    env,
    start,
    sample: (name: string, { source = name, ...wanted }: Wanted & { source?: string } = {}) => {
      const secret = env[secretName(source)] ?? '';
      const keys = { secret, signingKey: env[signingKeyName(source)] ?? secret };
      const url = sources[source]?.url ? toldUrl(source) : `https://example.com/webhooks/${source}`;
      return deliver(name, { keys, now: new Date(), url, ...wanted });
    },
    /** What becomes of deliveries of a source, by the rule of the claim (test/engine/db/claim.test.ts). */
    outcomesOf: async (source: string, deliveries: readonly Sent[]): Promise<string[]> => {
      const known: NewEvent[] = [];
      const outcomes: string[] = [];
      for (const sent of deliveries) {
        const receiver = start();
        expect((await receiver.send(...requestOf(sent, source))).ok).toBe(true);
        const events = (await receiver.events()).filter(({ eventId }) => !known.some((one) => one.eventId === eventId));
        const isReplay = ({ fingerprint }: NewEvent) =>
          fingerprint !== null && known.some((one) => one.fingerprint === fingerprint);
        outcomes.push(events.length === 0 ? 'duplicate' : events.some(isReplay) ? 'parked' : 'accepted');
        known.push(...events);
      }
      return outcomes;
    },
  };
}

/** As it is sent, to the source of this name. */
export function requestOf({ headers, text, url }: Sent, source: string): [path: string, init: RequestInit] {
  return [source + new URL(url).search, { headers, body: text }];
}
