import { madeUpKeys, type Signed, sign } from '../cli/samples/sign.ts';
import { secretName } from '../src/receiver/secrets.ts';
import { type BenchSource, sources } from './workers/sources.ts';

/** For each source, the provider's signing key and the receiver's secret. */
export type SigningKeys = Readonly<Record<BenchSource, { readonly secret: string; readonly signingKey: string }>>;

export function makeKeys(): SigningKeys {
  const entries = Object.entries(sources).map(([name, { provider }]) => [name, madeUpKeys(provider)]);
  return Object.fromEntries(entries);
}

/** The receiver's secrets by variable. */
export function secretsFor(keys: SigningKeys): Record<string, string> {
  return Object.fromEntries(Object.entries(keys).map(([name, { secret }]) => [secretName(name), secret]));
}

/** Events in a SendGrid delivery. Usual batches are smaller; the largest have thousands. */
export const BATCH = 100;

/** About the size of a Stripe invoice or a GitHub issue. */
const FILLER = 'x'.repeat(1200);

/** Makes the n-th delivery of a source. The same `run` and `n` give the same events with a new signature. */
export function deliveryOf(source: BenchSource, keys: SigningKeys, run: string, n: number): Signed {
  const id = `${run}-${n}`;
  const now = new Date();
  const { provider } = sources[source];
  return sign(provider, keys[source].signingKey, { id, type: TYPES[source], now, body: bodyOf(source, id, now) });
}

const TYPES: Readonly<Record<BenchSource, string>> = {
  github: 'issues',
  standardwebhooks: 'invoice.paid',
  sendgrid: 'delivered',
};

function bodyOf(source: BenchSource, id: string, now: Date): string {
  switch (source) {
    case 'github':
      return JSON.stringify({ action: 'opened', issue: { id, title: FILLER }, repository: { full_name: 'acme/shop' } });
    case 'standardwebhooks':
      return JSON.stringify({
        type: TYPES[source],
        timestamp: now.toISOString(),
        data: { object: { id, customer: id.slice(-3), amount_paid: 1 }, memo: FILLER },
      });
    case 'sendgrid': {
      const timestamp = Math.floor(now.getTime() / 1000);
      const items = Array.from({ length: BATCH }, (_, n) => ({
        email: 'customer@example.com',
        timestamp,
        event: TYPES[source],
        sg_event_id: `${id}-${n}`,
        sg_message_id: `${id}.filter0001.16648.5515E0B88.0`,
        response: '250 OK',
      }));
      return JSON.stringify(items);
    }
  }
}
