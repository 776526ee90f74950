import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { createReceiver } from '../../../src/receiver/receive.ts';
import type { Log } from '../../../src/shared/log.ts';
import { learnVariables, searchedLog } from '../canaries/canaries.ts';
import { useDatabase } from '../database.ts';
import { sources } from '../fixture/sources.ts';
import { type Name, signers } from '../signatures.ts';
import { report } from './form.ts';

const database = useDatabase();
let logged: unknown[] = [];
const log: Log = (line) => {
  logged.push(line.signed_with);
  searchedLog(line);
};
const app = createReceiver({ sources, now: () => new Date(), log });

const DELIVERIES = 40;
const secretOf = (name: string) => `whsec_${Buffer.from(name.padEnd(24, '.')).toString('base64')}`;
const OLD = secretOf('old');
const NEW = secretOf('new');

/** The receiver as it is deployed with these secrets. A deploy takes a while: the one before answers some deliveries, too. */
function deployed(source: Name, secrets: { current: string; previous?: string }): Env {
  const name = `${source.toUpperCase()}_WEBHOOK_SECRET`;
  const queue = { send: async () => {}, sendBatch: async () => {} };
  const vars = {
    DATABASE_URL: database.stack.workerUrls.receiver,
    [name]: secrets.current,
    [`${name}_PREVIOUS`]: secrets.previous,
  };
  learnVariables(vars);
  return { ...vars, EVENTS: queue } as unknown as Env;
}

/** How many deliveries are refused, if each is signed with one of these secrets and answered by one of these receivers. */
async function refused(source: Name, envs: readonly Env[], secrets: readonly string[]): Promise<number> {
  const statuses = await Promise.all(
    Array.from({ length: DELIVERIES }, async (_, n) => {
      const body = JSON.stringify({ id: randomUUID(), type: 'any' });
      const signed = await signers[source](body, { secret: secrets[n % secrets.length] ?? '' });
      const request = new Request(`https://hooks.example.com/webhooks/${source}`, { method: 'POST', ...signed });
      return (await app.fetch(request, envs[Math.floor(n / 2) % envs.length])).status;
    }),
  );
  const others = statuses.filter((status) => status !== 200 && status !== 401);
  expect(others).toEqual([]);
  return statuses.filter((status) => status === 401).length;
}

const SOURCES: Name[] = ['stripe', 'github', 'standardwebhooks'];

it.each(SOURCES)('no delivery of %s is refused while npm run secret rotates its secret', async (source) => {
  const before = deployed(source, { current: OLD });
  const rotated = deployed(source, { current: NEW, previous: OLD });
  const after = deployed(source, { current: NEW });
  const steps = [
    await refused(source, [before, rotated], [OLD]),
    // The provider has the new secret, and sends again what it signed with the old one.
    await refused(source, [rotated], [OLD, NEW]),
    await refused(source, [rotated, after], [NEW]),
  ];
  expect(steps).toEqual([0, 0, 0]);
  report('secret rotation', { source, deliveries: DELIVERIES * steps.length, refused: 0 });
});

it('in the other order, deliveries signed with the old secret are refused', async () => {
  const before = deployed('stripe', { current: OLD });
  const early = deployed('stripe', { current: NEW });
  expect(await refused('stripe', [before, early], [OLD])).toBe(DELIVERIES / 2);
});

it('while there are two secrets, the log says which of them a delivery was signed with', async () => {
  const rotated = deployed('stripe', { current: NEW, previous: OLD });
  logged = [];
  await refused('stripe', [rotated], [OLD]);
  expect(new Set(logged)).toEqual(new Set(['previous']));
  logged = [];
  await refused('stripe', [rotated], [NEW]);
  expect(new Set(logged)).toEqual(new Set(['current']));
  logged = [];
  await refused('stripe', [deployed('stripe', { current: NEW })], [NEW]);
  expect(new Set(logged)).toEqual(new Set([undefined]));
});
