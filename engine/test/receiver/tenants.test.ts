// Deliveries of tenants: at which address, with which secret, and what a stranger's request costs.
import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { defineSources } from '../../src/kit/index.ts';
import { github } from '../../src/providers/github.ts';
import { slack } from '../../src/providers/slack.ts';
import { standardwebhooks } from '../../src/providers/standardwebhooks.ts';
import { stripe } from '../../src/providers/stripe.ts';
import { twilio } from '../../src/providers/twilio.ts';
import { zoom } from '../../src/providers/zoom.ts';
import { unpack } from '../../src/queue/forwarded.ts';
import { Tenants } from '../../src/receiver/tenants.ts';
import { segmentOf, type TenantKeys, tenantKeysFrom } from '../../src/shared/tenants.ts';
import { createTenants, type TenantSecretMade } from '../../src/tenants/index.ts';
import { useDatabase, WAIT } from '../database.ts';
import { FakeQueue } from '../fake-queue.ts';
import { signers } from '../signatures.ts';
import { SLOW_MACHINE } from '../slow-machine.ts';
import { neonAnswer, startReceiver } from './in-node.ts';

const database = useDatabase();
const KEY = 'k'.repeat(32);
const NEW = 'n'.repeat(32);
const sources = defineSources({
  code: { provider: github, types: '*', tenants: true, orderKey: '{json:repo}' },
  other: { provider: github, types: '*', tenants: true, maxBytes: 1024 * 1024 },
  pay: { provider: stripe, types: '*', tenants: true },
  sms: { provider: twilio, types: '*', tenants: true, url: 'https://hooks.example.com/sms' },
  calls: { provider: zoom, types: '*', tenants: true },
  chat: { provider: slack, types: '*', tenants: true },
  inhouse: { provider: standardwebhooks, types: '*', tenants: true },
  plain: { provider: github, types: '*' },
});
type SourceName = keyof typeof sources;

/** The statements that Postgres was asked, and whether it answers. */
let asked: string[];
let isAway: boolean;
let clock: number;
let receiver: ReturnType<typeof startReceiver>;

const start = (env: object = {}) =>
  startReceiver({
    sources,
    env: { DATABASE_URL: database.stack.workerUrls.receiver, TENANTS_KEY: KEY, PLAIN_WEBHOOK_SECRET: 'plain', ...env },
    now: () => new Date(clock),
    ...SLOW_MACHINE,
  });
const tenantsWith = (tenantsKey = KEY, tenantsKeyPrevious?: string) =>
  createTenants({ sources, databaseUrl: database.stack.workerUrls.ops ?? '', tenantsKey, tenantsKeyPrevious });
const lookUps = () => asked.filter((text) => text.includes('tenants')).length;

beforeEach(async () => {
  await database.sql('truncate webhooks.tenants, webhooks.events cascade');
  clock = Date.now();
  isAway = false;
  database.stack.neon.fault = (request) => {
    asked.push(JSON.stringify(request));
    return isAway ? { kind: 'refused' } : undefined;
  };
  receiver = start();
  asked = [];
});

async function add(source: SourceName, tenant: string, secret?: string): Promise<TenantSecretMade> {
  const made = await tenantsWith().put(source, tenant, secret === undefined ? {} : { secret });
  if (made.outcome === 'refused') throw new Error(made.reason);
  asked = [];
  return made;
}

/** The address without `/webhooks/`, where the receiver is mounted. */
const pathOf = ({ address }: { address: string }) => address.replace(/^.*\/webhooks\//, '');
const sign = (secret: string | undefined, body = '{}', id?: string) =>
  signers.github(body, { secret: secret ?? '', ...(id !== undefined && { id }) });

/** A tenant's delivery. The status of the answer. */
async function deliver(made: TenantSecretMade, secret = made.secret, body = '{}', id?: string): Promise<number> {
  return (await receiver.send(pathOf(made), await sign(secret, body, id))).status;
}

const ledger = () =>
  database.sql<{ event_id: string; status: string; order_key: string | null }>(
    'select event_id, status, order_key from webhooks.events order by event_id',
  );

describe('a delivery of a tenant', () => {
  it('is claimed under an id that begins with the tenant, and its log line names it', async () => {
    const acme = await add('code', 'acme');
    expect(await deliver(acme, acme.secret, '{"repo":"site"}', 'id-1')).toBe(200);
    expect(await ledger()).toEqual([{ event_id: 'acme:id-1', status: 'pending', order_key: 'acme:site' }]);
    expect(receiver.tickets).toEqual([expect.objectContaining({ source: 'code', eventId: 'acme:id-1' })]);
    expect(receiver.lines.at(-1)).toMatchObject({ step: 'delivery', tenant: 'acme', event_id: 'acme:id-1' });
    expect(await deliver(acme, acme.secret, '{"repo":"site"}', 'id-1')).toBe(200);
    expect(receiver.lines.at(-1)).toMatchObject({ outcome: 'duplicate', tenant: 'acme' });
  });

  it('is verified with the secret of its sender, also if the sender made it', async () => {
    const acme = await add('pay', 'acme', 'whsec_abc');
    const send = async (secret: string) =>
      (await receiver.send(pathOf(acme), await signers.stripe('{"id":"evt_1"}', { secret }))).status;
    expect([await send('whsec_abc'), await send('whsec_abd')]).toEqual([200, 401]);
  });

  it('is verified with a secret that a sender of Standard Webhooks was told', async () => {
    const acme = await add('inhouse', 'acme');
    const signed = await signers.standardwebhooks('{"type":"a"}', { secret: acme.secret ?? '' });
    expect((await receiver.send(pathOf(acme), signed)).status).toBe(200);
  });

  it('never meets a delivery of another tenant with the same id, body and order key', async () => {
    const acme = await add('code', 'acme');
    const globex = await add('code', 'globex');
    const body = '{"repo":"site"}';
    for (const one of [acme, globex]) expect(await deliver(one, one.secret, body, 'id-1')).toBe(200);
    // The same body again under another id is a suspected replay, of this tenant alone.
    expect(await deliver(globex, globex.secret, body, 'id-2')).toBe(200);
    // Another body under a known id gets a hash as its id, which begins with the tenant as well.
    expect(await deliver(acme, acme.secret, '{"repo":"other"}', 'id-1')).toBe(200);
    expect(await ledger()).toEqual([
      { event_id: expect.stringMatching(/^acme:[0-9a-f]{64}$/), status: 'parked', order_key: 'acme:other' },
      { event_id: 'acme:id-1', status: 'pending', order_key: 'acme:site' },
      { event_id: 'globex:id-1', status: 'pending', order_key: 'globex:site' },
      { event_id: 'globex:id-2', status: 'parked', order_key: 'globex:site' },
    ]);
  });

  it('may have an id as long as any other', async () => {
    const acme = await add('code', 'a'.repeat(64));
    for (const [id, repo] of [
      ['i'.repeat(512), 'one'],
      ['i'.repeat(513), 'two'],
    ] as const) {
      expect(await deliver(acme, acme.secret, JSON.stringify({ repo }), id)).toBe(200);
    }
    const ids = (await ledger()).map(({ event_id }) => event_id.slice(65));
    expect(ids.toSorted((a, b) => a.length - b.length)).toEqual([
      expect.stringMatching(/^[0-9a-f]{64}$/),
      'i'.repeat(512),
    ]);
  });

  it('signed with the secret of another tenant is refused', async () => {
    const acme = await add('code', 'acme');
    const globex = await add('code', 'globex');
    expect([await deliver(acme, globex.secret), await deliver(acme)]).toEqual([401, 200]);
    expect(receiver.lines[0]).toMatchObject({ outcome: 'refused', reason: 'signature mismatch', tenant: 'acme' });
  });

  it('is verified with the URL that ends with the segment of the tenant', async () => {
    const acme = await add('sms', 'acme', 'token');
    const { address } = acme;
    expect(address).toMatch(/^https:\/\/hooks\.example\.com\/sms\/acme\.[0-9a-f]{32}$/);
    const body = new URLSearchParams({ MessageSid: 'SM1', MessageStatus: 'sent' });
    const signature = (url: string) =>
      createHmac('sha1', 'token').update(`${url}MessageSidSM1MessageStatussent`).digest('base64');
    const send = async (url: string) =>
      (
        await receiver.send(`sms/${address.split('/').at(-1)}`, {
          headers: { 'x-twilio-signature': signature(url) },
          body,
        })
      ).status;
    expect([await send('https://hooks.example.com/sms'), await send(address)]).toEqual([401, 200]);
  });

  it('may be a handshake, signed or answered with the secret of the tenant', async () => {
    const calls = await add('calls', 'acme', 'zoom secret');
    const validation = JSON.stringify({ event: 'endpoint.url_validation', payload: { plainToken: 'abc' } });
    const answer = await receiver.send(pathOf(calls), await signedByZoom('zoom secret', validation));
    const encryptedToken = createHmac('sha256', 'zoom secret').update('abc').digest('hex');
    expect(await answer.json()).toMatchObject({ plainToken: 'abc', encryptedToken });

    const chat = await add('chat', 'acme', 'slack secret');
    const challenge = JSON.stringify({ type: 'url_verification', challenge: 'xyz' });
    const at = String(Math.floor(clock / 1000));
    const v0 = createHmac('sha256', 'slack secret').update(`v0:${at}:${challenge}`).digest('hex');
    const headers = { 'x-slack-request-timestamp': at, 'x-slack-signature': `v0=${v0}` };
    expect(await (await receiver.send(pathOf(chat), { headers, body: challenge })).text()).toBe('xyz');
  });
});

const signedByZoom = async (secret: string, body: string) => {
  const at = String(Math.floor(clock / 1000));
  const signature = createHmac('sha256', secret).update(`v0:${at}:${body}`).digest('hex');
  return { body, headers: { 'x-zm-request-timestamp': at, 'x-zm-signature': `v0=${signature}` } };
};

describe('an address', () => {
  /** A delivery whose body says whether somebody has read it. */
  async function sendTo(path: string, headers: Record<string, string> = {}) {
    let isRead = false;
    const body = new ReadableStream(
      {
        pull(controller) {
          isRead = true;
          controller.enqueue(new TextEncoder().encode('{}'));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const response = await receiver.send(path, { body, headers });
    return [response.status, await response.text(), isRead, asked.length];
  }

  it('that we have not made is answered 404, without a look at the body or a query', async () => {
    const acme = await add('code', 'acme');
    const [, path = ''] = pathOf(acme).split('/');
    const elsewhere = await sendTo('nowhere');
    expect(elsewhere).toMatchObject([404, expect.stringContaining('no such source'), false, 0]);
    for (const wrong of [
      `other/${path}`,
      `plain/${path}`,
      `code/${path.replace('acme', 'acmf')}`,
      `code/${path.slice(0, -1)}${path.endsWith('0') ? '1' : '0'}`,
      `code/${path.toUpperCase()}`,
      `code/${path}/more`,
      'code/acme',
      'code/Acme.00000000000000000000000000000000',
      `code/${'a'.repeat(65)}.00000000000000000000000000000000`,
      'code',
    ]) {
      expect(await sendTo(wrong, { 'x-hub-signature-256': 'sha256=00' }), wrong).toEqual(elsewhere);
    }
    const get = await receiver.send('code/acme.00000000000000000000000000000000', { method: 'GET' });
    expect([get.status, await get.text()]).toEqual(elsewhere.slice(0, 2));
    expect(receiver.lines).toEqual([]);
  });

  it('of a tenant that does not exist, or is disabled, is answered the same 404', async () => {
    const made = await tenantsWith().address('code', 'nobody');
    const acme = await add('code', 'acme');
    await tenantsWith().disable('code', 'acme');
    const elsewhere = await (await receiver.send('nowhere')).text();
    for (const one of [{ ...acme, ...made }, acme]) {
      const response = await receiver.send(pathOf(one), await sign(acme.secret));
      expect([response.status, await response.text()]).toEqual([404, elsewhere]);
    }
    expect(receiver.lines).toMatchObject([
      { outcome: 'no_such_tenant', tenant: 'nobody' },
      { outcome: 'no_such_tenant', tenant: 'acme' },
    ]);
  });

  it('gets nothing read and nothing asked without a signature', async () => {
    const acme = await add('code', 'acme');
    expect(await sendTo(pathOf(acme))).toMatchObject([401, expect.anything(), false, 0]);
  });

  it.each([undefined, '', 'k'.repeat(31)])(
    'is answered 503 while TENANTS_KEY is %j, and one line says so',
    async (key) => {
      const acme = await add('code', 'acme');
      receiver = start({ TENANTS_KEY: key });
      expect([await deliver(acme), await deliver(acme)]).toEqual([503, 503]);
      const line = { step: 'configuration', outcome: 'no_usable_tenants_key', variable: 'TENANTS_KEY' };
      expect(receiver.lines.filter(({ step }) => step === 'configuration')).toEqual([line]);
      expect(asked).toEqual([]);
    },
  );

  it('of the previous TENANTS_KEY counts as long as that key is set', async () => {
    const acme = await add('code', 'acme');
    receiver = start({ TENANTS_KEY: NEW, TENANTS_KEY_PREVIOUS: KEY });
    expect(await deliver(acme)).toBe(200);
    expect(receiver.lines.at(-1)).toMatchObject({ addressed_with: 'previous' });
    const next = (await tenantsWith(NEW, KEY).rotate('code', 'acme')) as TenantSecretMade;
    clock += 1000;
    for (const [address, secret] of [
      [acme, acme.secret],
      [next, next.secret],
    ] as const) {
      expect(await deliver(address, secret, `{"to":"${address.outcome}"}`)).toBe(200);
    }
    expect(receiver.lines.at(-1)).toMatchObject({ addressed_with: 'current' });
    receiver = start({ TENANTS_KEY: NEW });
    expect([await deliver(acme), await deliver(next, acme.secret), await deliver(next)]).toEqual([404, 401, 200]);
  });
});

describe('a secret', () => {
  it('is asked for once a minute, however many deliveries come at once', async () => {
    const acme = await add('code', 'acme');
    const many = await Promise.all(Array.from({ length: 20 }, (_, n) => deliver(acme, acme.secret, `{"n":${n}}`)));
    expect([new Set(many), lookUps()]).toEqual([new Set([200]), 1]);
    clock += 59_999;
    await deliver(acme);
    expect(lookUps()).toBe(1);
    clock += 1;
    await deliver(acme);
    expect(lookUps()).toBe(2);
  });

  it('that was rotated counts at once, beside the one before until the rotation is finished', async () => {
    const acme = await add('code', 'acme');
    await deliver(acme);
    const next = (await tenantsWith().rotate('code', 'acme')) as TenantSecretMade;
    clock += 1000;
    expect(await deliver(next, next.secret, '{"n":1}')).toBe(200);
    expect(await deliver(acme, acme.secret, '{"n":2}')).toBe(200);
    const signedWith = receiver.lines.flatMap(({ step, signed_with }) => (step === 'delivery' ? [signed_with] : []));
    expect(signedWith).toEqual([undefined, 'current', 'previous']);
    await tenantsWith().finish('code', 'acme');
    clock += 60_000;
    expect([await deliver(acme), await deliver(next)]).toEqual([401, 200]);
  });

  it('is asked for again at most once a second, whatever signatures come', async () => {
    const acme = await add('code', 'acme');
    await deliver(acme);
    for (let n = 0; n < 30; n++) {
      clock += 100;
      expect(await deliver(acme, 'wrong')).toBe(401);
    }
    expect(lookUps()).toBe(1 + 3);
  });

  it('of a tenant that is disabled counts for a minute at most, and not at all once it is made again', async () => {
    const acme = await add('code', 'acme');
    expect(await deliver(acme)).toBe(200);
    await tenantsWith().disable('code', 'acme');
    clock += 1000;
    // A wrong signature makes the isolate ask.
    expect([await deliver(acme, 'wrong'), await deliver(acme)]).toEqual([404, 404]);
    const again = await add('code', 'acme');
    clock += 1000;
    expect([again.address, await deliver(again, acme.secret), await deliver(again)]).toEqual([acme.address, 401, 200]);
  });

  it('of a tenant that is made later counts a second later', async () => {
    const made = await tenantsWith().address('code', 'acme');
    asked = [];
    const early = { ...made, secret: 'early' } as TenantSecretMade;
    expect([await deliver(early), await deliver(early)]).toEqual([404, 404]);
    expect(lookUps()).toBe(1);
    const acme = await add('code', 'acme');
    clock += 1000;
    expect(await deliver(acme)).toBe(200);
  });

  it('that was moved from another tenant is answered 503', async () => {
    const acme = await add('pay', 'acme', 'whsec_one');
    await add('pay', 'evil', 'whsec_two');
    await database.sql(
      `update webhooks.tenants set sealed = (select sealed from webhooks.tenants where tenant = 'evil')`,
    );
    const signed = await signers.stripe('{"id":"evt_1"}', { secret: 'whsec_two' });
    expect((await receiver.send(pathOf(acme), signed)).status).toBe(503);
    expect(receiver.lines).toMatchObject([{ step: 'delivery', outcome: 'no_usable_secret', tenant: 'acme' }]);
  });
});

describe('while Postgres is away', () => {
  it('a tenant that the isolate knows is served from the queue for an hour, and any other is answered 503', async () => {
    const acme = await add('code', 'acme');
    const globex = await add('code', 'globex');
    await deliver(acme);
    isAway = true;
    clock += 60_000;
    expect(await deliver(acme, acme.secret, '{"repo":"a"}', 'id-1')).toBe(200);
    // The consumer needs the tenant if it has to claim the event under another id.
    const [message] = receiver.forwarded;
    const events = [{ eventId: 'acme:id-1', orderKey: 'acme:a' }];
    expect(await unpack(message)).toMatchObject({ source: 'code', tenant: 'acme', events });
    const response = await receiver.send(pathOf(globex), await sign(globex.secret));
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '30']);
    expect(receiver.lines.at(-1)).toMatchObject({ outcome: 'tenant_unavailable', tenant: 'globex' });
    clock += 3_600_000;
    expect(await deliver(acme)).toBe(503);
    isAway = false;
    expect([await deliver(acme), await deliver(globex)]).toEqual([200, 200]);
  });

  it('a wrong signature is answered 503, because the secret may be another one, and so is a tenant that was missing', async () => {
    const acme = await add('code', 'acme');
    const { address } = (await tenantsWith().address('code', 'nobody')) as TenantSecretMade;
    const nobody = { ...acme, address };
    expect([await deliver(acme, 'wrong'), await deliver(nobody)]).toEqual([401, 404]);
    isAway = true;
    clock += 1000;
    expect([await deliver(acme, 'wrong'), await deliver(nobody), await deliver(acme)]).toEqual([503, 503, 200]);
  });

  it('a tenant that the isolate knows waits for Postgres once in ten seconds', async () => {
    const acme = await add('code', 'acme');
    await deliver(acme);
    isAway = true;
    clock += 60_000;
    asked = [];
    for (let n = 0; n < 20; n++) {
      expect(await deliver(acme)).toBe(200);
      clock += 999;
    }
    expect(lookUps()).toBe(2);
  });
});

describe('one tenant', () => {
  const MIB = 1024 * 1024;

  /** A body of this size that doesn't end. `onRead` is called when all of it was taken. */
  const hanging = (bytes: number, onRead: () => void) => {
    const chunks = [new Uint8Array(bytes)];
    const pull = (controller: ReadableStreamDefaultController) => {
      const chunk = chunks.pop();
      if (chunk) return controller.enqueue(chunk);
      onRead();
      return new Promise<void>(() => {});
    };
    return new ReadableStream({ pull }, { highWaterMark: 0 });
  };

  it('can take a tenth of the memory for bodies, and leaves the rest to the others', async () => {
    const acme = await add('other', 'acme');
    const globex = await add('other', 'globex');
    const { headers } = await sign('x');
    let read = 0;
    const body = () => hanging(MIB / 2, () => read++);
    const open = Array.from({ length: 4 }, () => receiver.send(pathOf(acme), { headers, body: body() }));
    await vi.waitFor(() => expect(read).toBe(open.length), WAIT);
    expect(await deliver(acme)).toBe(503);
    expect(receiver.lines.at(-1)).toMatchObject({ outcome: 'overloaded', tenant: 'acme' });
    expect(await deliver(globex)).toBe(200);
  });
});

it('keeps the secrets of 1,000 tenants, however many there are', async () => {
  const keys = (await tenantKeysFrom(KEY, undefined)) as TenantKeys;
  const row = { generation: 1, keyId: keys[0].id, sealed: null, isDisabled: false };
  const nulls = { previousGeneration: null, previousKeyId: null, sealedPrevious: null };
  let questions = 0;
  vi.stubGlobal('fetch', async () => {
    questions++;
    return neonAnswer({ ...row, ...nulls });
  });
  const tenants = new Tenants(() => new Date(clock), 30_000);
  const env = { DATABASE_URL: database.stack.workerUrls.receiver ?? '', EVENTS: new FakeQueue() as never };
  const ask = async (n: number) => {
    const id = { source: 'code', tenant: `tenant-${n}` };
    const segment = await segmentOf(keys[0], id);
    return tenants.secretsOf({ outcome: 'called', id, segment, keys, addressedWith: undefined }, env);
  };
  const secrets = new Set<unknown>();
  for (let n = 0; n < 10_000; n++) secrets.add(JSON.stringify(await ask(n)));
  expect([secrets.size, questions]).toEqual([10_000, 10_000]);
  for (let n = 9000; n < 10_000; n++) await ask(n);
  expect(questions).toBe(10_000);
  for (let n = 8000; n < 9000; n++) await ask(n);
  expect(questions).toBe(11_000);
  vi.unstubAllGlobals();
});
