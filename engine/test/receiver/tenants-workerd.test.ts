import { randomUUID } from 'node:crypto';
import { beforeAll, expect, it, vi } from 'vitest';
import { github } from '../../src/providers/github.ts';
import { createTenants, type TenantSecretMade } from '../../src/tenants/index.ts';
import { useDatabase, WAIT } from '../database.ts';
import { usePlainWorkerd } from '../plain-workerd.ts';
import { signers } from '../signatures.ts';

const database = useDatabase();
const TENANTS_KEY = 'k'.repeat(32);
const ANSWER_AFTER_MS = 500;

/** How often Postgres was asked for a tenant. */
let lookUps = 0;
beforeAll(() => {
  database.stack.neon.fault = (request) => {
    if (!JSON.stringify(request).includes('tenants')) return undefined;
    lookUps++;
    return { kind: 'slow', ms: ANSWER_AFTER_MS };
  };
});

const workerd = usePlainWorkerd('engine/test/receiver/tenants-worker.ts', () => ({
  DATABASE_URL: database.stack.workerUrls.receiver ?? '',
  TENANTS_KEY,
}));

// In workerd, each delivery has its own connections, which end with it.
it('deliveries of a tenant at the same time share one look-up, also if the one that began it has hung up', async () => {
  const sources = { code: { provider: github, types: '*', tenants: true } } as const;
  const tenants = createTenants({ sources, databaseUrl: database.stack.databaseUrl, tenantsKey: TENANTS_KEY });
  const { address, secret = '' } = (await tenants.put('code', 'acme')) as TenantSecretMade;
  lookUps = 0;
  const send = async (signal: AbortSignal | null = null) => {
    const signed = await signers.github(JSON.stringify({ id: randomUUID() }), { secret });
    const sent = fetch(`http://127.0.0.1:${workerd.port}${address}`, { method: 'POST', ...signed, signal });
    return sent.then(
      ({ status }) => status,
      ({ name }: Error) => name,
    );
  };
  const hungUp = send(AbortSignal.timeout(ANSWER_AFTER_MS / 2));
  await vi.waitFor(() => expect(lookUps).toBe(1), WAIT);
  const others = await Promise.all(Array.from({ length: 20 }, () => send()));
  expect([await hungUp, ...new Set(others)]).toEqual(['TimeoutError', 200]);
  expect([await send(), lookUps]).toEqual([200, 1]);
});
