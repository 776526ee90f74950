import { expect } from 'vitest';
import { signingKeyName } from '../../../../scripts/config/dev-vars.ts';
import { secretName } from '../../../../src/receiver/secrets.ts';
import { type Running, useRunning } from '../../running.ts';
import { deliver, type Sent, type Wanted } from '../../verify/deliveries.ts';
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
