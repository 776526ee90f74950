import { describe, expect, it, vi } from 'vitest';
import { access, BEARER, basic, startOpsWorker, TOKEN } from './start.ts';

const DATABASE = { DATABASE_URL: 'postgres://claimcheck:secret@ep-x.eu-central-1.aws.neon.tech/claimcheck' };
/** Every refusal leaves a line, without anything that the request said. */
const REFUSED = { step: 'operator', outcome: 'refused', reason: expect.any(String) };
const isRefused = (line: object) => Reflect.get(line, 'outcome') === 'refused';
const WITH_TOKEN = { ...DATABASE, OPS_TOKEN: TOKEN };
const AUDIENCE = '4714c1358e65fe4b408ad6d432a5f878f08194bdb4752441fd56faefa9b2b6f2';
const ONCALL = access(AUDIENCE, { email: 'oncall@example.com' });

/** They need no database: there is nothing at these addresses, but only somebody who was let in is told so. */
const PAGE = '/ops/nothing';
const API = '/ops/api/nothing';
const EVERYTHING = ['/ops', '/ops/', '/ops/events', '/ops/metrics', '/ops/files/style.css', '/ops/nothing', PAGE, API];
const LET_IN = 404;

/** An action that is refused by its body alone, after its sender was let in: 400. */
const ACTION = '/ops/api/events/retry';
const UNDERSTOOD = 400;
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' };

describe('without OPS_TOKEN and Cloudflare Access', () => {
  it('nobody is let in, whatever a request says, and one sentence says what to configure', async () => {
    const { call, sent, lines } = startOpsWorker({ env: DATABASE });
    const changes = [ACTION, '/ops/api/events/stripe/evt_1/retry', '/ops/event?source=a&event_id=b', '/ops/bulk'];
    const requests = [
      ...EVERYTHING.map((path) => ['GET', path] as const),
      ...changes.map((path) => ['POST', path] as const),
    ];
    for (const host of ['https://ops.example.com', 'http://localhost:8787']) {
      for (const headers of [{ ...BEARER, 'cf-access-jwt-assertion': 'a.b.c' }, basic('oncall'), SAME_ORIGIN]) {
        for (const [method, path] of requests) {
          const answer = await call(path, { method, headers }, host);
          expect([path, answer.status, answer.headers.get('www-authenticate')]).toEqual([path, 403, null]);
          expect(await answer.text()).toMatch(/switch on Cloudflare Access .* or set the secret OPS_TOKEN/);
        }
      }
    }
    // A request that had come as far as the database would have left another line: nothing answers at its URL.
    expect(sent).toEqual([]);
    expect(lines).toEqual(Array(6 * requests.length).fill(REFUSED));
  });
});

describe('an OPS_TOKEN of fewer than 32 characters', () => {
  it('lets nobody in, not even through Cloudflare Access, and is logged once', async () => {
    const short = 'x'.repeat(31);
    const { call, lines } = startOpsWorker({ env: { ...DATABASE, OPS_TOKEN: short }, access: ONCALL });
    for (const headers of [{}, { authorization: `Bearer ${short}` }, basic('oncall', short)]) {
      for (const path of [PAGE, API]) {
        const answer = await call(path, { headers });
        expect(answer.status).toBe(403);
        expect(await answer.text()).toContain('OPS_TOKEN has fewer than 32 characters');
      }
    }
    expect(lines.filter((line) => !isRefused(line))).toEqual([
      { step: 'configuration', outcome: 'ops_token_too_short' },
    ]);
    const long = startOpsWorker({ env: { ...DATABASE, OPS_TOKEN: 'x'.repeat(32) } });
    expect((await long.call(API, { headers: { authorization: `Bearer ${'x'.repeat(32)}` } })).status).toBe(LET_IN);
  });
});

describe('with OPS_TOKEN', () => {
  const started = () => startOpsWorker({ env: WITH_TOKEN });
  const status = async (authorization: string | undefined, path = API) =>
    (await started().call(path, authorization === undefined ? {} : { headers: { authorization } })).status;

  it('a script is let in with it as a bearer, and a browser with it as the password', async () => {
    for (const path of [PAGE, API]) {
      expect(await status(BEARER.authorization, path)).toBe(LET_IN);
      expect(await status(basic('oncall').authorization, path)).toBe(LET_IN);
      expect(await status(basic('').authorization, path)).toBe(LET_IN);
      expect(await status(`bearer  ${TOKEN}`, path)).toBe(LET_IN);
    }
  });

  it('anything else is refused', async () => {
    const encoded = (text: string) => Buffer.from(text).toString('base64');
    for (const wrong of [
      undefined,
      '',
      TOKEN,
      'Bearer ',
      `Bearer ${TOKEN}x`,
      `Bearer ${TOKEN.slice(1)}`,
      `Bearer ${encoded(`oncall:${TOKEN}`)}`,
      `Basic ${TOKEN}`,
      `Basic ${encoded(TOKEN)}`,
      `Basic ${encoded(`${TOKEN}:oncall`)}`,
      `Basic ${encoded(`oncall:${TOKEN}:`)}`,
      `Basic ${encoded('oncall:')}`,
      'Basic *',
      `Digest ${TOKEN}`,
      `Bearer ${TOKEN}, Basic ${encoded(`oncall:${TOKEN}`)}`,
    ]) {
      expect([wrong, await status(wrong)]).toEqual([wrong, 401]);
      expect([wrong, await status(wrong, PAGE)]).toEqual([wrong, 401]);
    }
  });

  it('a browser is asked for a name and a password on a page, and a program for a bearer', async () => {
    const { call } = started();
    for (const headers of [{}, basic('oncall', 'wrong')]) {
      const challengeOf = async (path: string) => (await call(path, { headers })).headers.get('www-authenticate');
      for (const path of ['/ops', PAGE]) expect(await challengeOf(path)).toBe('Basic realm="ops", charset="UTF-8"');
      for (const path of ['/ops/metrics', API]) expect(await challengeOf(path)).toBe('Bearer realm="ops"');
    }
  });

  it('crypto.subtle.verify alone decides whether it is right, so that the time of an answer reveals nothing', async () => {
    const verify = vi.spyOn(crypto.subtle, 'verify').mockResolvedValue(true);
    expect(await status('Bearer wrong')).toBe(LET_IN);
    expect(await status(basic('oncall', 'wrong').authorization)).toBe(LET_IN);
    verify.mockResolvedValue(false);
    expect(await status(BEARER.authorization)).toBe(401);
    expect(await status(basic('oncall').authorization)).toBe(401);
    verify.mockRestore();
  });

  it('no answer may be cached, framed or given a script of its own', async () => {
    const { call } = started();
    for (const headers of [{}, BEARER]) {
      for (const path of [PAGE, API]) {
        const answer = await call(path, { headers });
        expect(Object.fromEntries(answer.headers)).toMatchObject({
          'cache-control': 'no-store',
          'content-security-policy': expect.stringMatching(
            /^default-src 'none'; .*; frame-ancestors 'none'; base-uri 'none'$/,
          ),
          'cross-origin-opener-policy': 'same-origin',
          'cross-origin-resource-policy': 'same-origin',
          'referrer-policy': 'same-origin',
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'DENY',
          'x-robots-tag': 'noindex, nofollow',
        });
        expect(answer.headers.get('content-security-policy')).not.toContain('unsafe');
      }
    }
  });
});

describe('with Cloudflare Access', () => {
  const whoOf = async (identity: Record<string, unknown> | undefined, headers: Record<string, string> = {}) => {
    const { call } = startOpsWorker({ env: DATABASE, access: access(AUDIENCE, identity) });
    const page = await (await call(PAGE, { headers })).text();
    return /class="operator">([^<]*)</.exec(page)?.[1];
  };

  it('whoever it has let in is known by the e-mail, or by the name of the service token', async () => {
    expect(await whoOf({ email: 'oncall@example.com', common_name: 'x' })).toBe('oncall@example.com');
    expect(await whoOf({ email: 'oncall@example.com' }, { 'x-ops-actor': 'lead' })).toBe('oncall@example.com');
    expect(await whoOf({ email: '', common_name: 'deploy.access' })).toBe('deploy.access');
    expect(await whoOf({ common_name: 'deploy.access' }, { 'x-ops-actor': 'lead' })).toBe('deploy.access (lead)');
    expect(await whoOf({ email: 'a\nda\u202e@example.com' })).toBe('a da @example.com');
    expect(await whoOf(undefined)).toBe('access');
  });

  it('that the details of an identity cannot be loaded locks nobody out', async () => {
    const getIdentity = () => Promise.reject(new Error('Access is down'));
    const { call } = startOpsWorker({ env: DATABASE, access: { aud: AUDIENCE, getIdentity } });
    expect((await call(API)).status).toBe(LET_IN);
  });

  it('only the application that ACCESS_AUD names counts, if it is set', async () => {
    const call = (audience: string, aud: string) =>
      startOpsWorker({ env: { ...DATABASE, ACCESS_AUD: audience }, access: access(aud, { email: 'a@b' }) }).call(PAGE);
    expect((await call(AUDIENCE, AUDIENCE)).status).toBe(LET_IN);
    for (const other of [AUDIENCE.slice(1), `${AUDIENCE}0`, '']) {
      const answer = await call(AUDIENCE, other);
      expect(answer.status).toBe(403);
      expect(await answer.text()).toContain('ACCESS_AUD');
    }
  });

  it('without the identity of the runtime its headers and cookies mean nothing', async () => {
    const { call } = startOpsWorker({ env: { ...DATABASE, ACCESS_AUD: AUDIENCE } });
    const blob = JSON.stringify({ app_aud: AUDIENCE, jwt_claims: { email: 'eve@example.com' } });
    for (const headers of [
      { 'cf-access-jwt-assertion': 'a.b.c', 'cf-access-authenticated-user-email': 'eve@example.com' },
      { cookie: 'CF_Authorization=a.b.c' },
      { 'mf-access-blob': blob },
    ]) {
      expect((await call(API, { headers })).status).toBe(403);
    }
  });

  it('OPS_TOKEN works beside it, and a wrong token is refused all the same', async () => {
    const { call } = startOpsWorker({ env: WITH_TOKEN, access: ONCALL });
    for (const headers of [{}, BEARER, basic('oncall')]) expect((await call(API, { headers })).status).toBe(LET_IN);
    expect((await call(API, { headers: { authorization: `Bearer ${TOKEN}x` } })).status).toBe(401);
  });
});

describe('on this machine, with the identity of wrangler dev', () => {
  const LOCAL = 'http://localhost:8787';
  const LOCAL_DATABASE = { DATABASE_URL: 'postgres://claimcheck:secret@127.0.0.1:1/claimcheck' };
  type Case = [what: string, status: number, host: string, headers?: Record<string, string>, env?: object];
  const FORWARDING = 'forwarded via x-real-ip cdn-loop x-forwarded-for x-forwarded-host x-forwarded-proto'.split(' ');

  it.each<Case>([
    ['open at localhost', LET_IN, LOCAL],
    ['open at 127.0.0.1', LET_IN, 'http://127.0.0.1:8787'],
    ['open at [::1]', LET_IN, 'http://[::1]:8787'],
    ['closed at another host name, as with DNS rebinding', 403, 'http://evil.example:8787'],
    ['closed for a deployed Worker', 403, 'https://ops.example.com'],
    // A tunnel may rewrite the host, but says in one of these that it is one.
    ...FORWARDING.map((name): Case => [`closed with the header ${name}`, 403, LOCAL, { [name]: '203.0.113.9' }]),
    ['closed for a database elsewhere, which may be that of production', 403, LOCAL, {}, DATABASE],
    ['open although ACCESS_AUD names the application of production', LET_IN, LOCAL, {}, { ACCESS_AUD: AUDIENCE }],
    ['closed elsewhere, whatever ACCESS_AUD names', 403, 'https://ops.example.com', {}, { ACCESS_AUD: AUDIENCE }],
    ['closed for other people on the machine if there is OPS_TOKEN', 401, LOCAL, {}, WITH_TOKEN],
    ['open for whoever has OPS_TOKEN', LET_IN, LOCAL, basic('oncall'), WITH_TOKEN],
  ])('it is %s', async (_what, status, host, headers = {}, env = {}) => {
    const identity = access('local', { email: 'you@localhost' });
    const { call } = startOpsWorker({ env: { ...LOCAL_DATABASE, ...env }, access: identity });
    expect((await call(PAGE, { headers }, host)).status).toBe(status);
  });
});

describe('a request that changes something', () => {
  const ORIGIN = 'https://ops.example.com';
  const SAME = [SAME_ORIGIN, { origin: ORIGIN }, { ...SAME_ORIGIN, origin: ORIGIN }];
  const OTHER = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': '' },
    { origin: 'https://evil.example' },
    { origin: 'http://ops.example.com' },
    { origin: 'null' },
    { ...SAME_ORIGIN, origin: 'https://evil.example' },
    { 'sec-fetch-site': 'cross-site', origin: ORIGIN },
  ];
  const WAYS = [
    { way: 'a bearer', env: WITH_TOKEN, headers: BEARER, withoutEither: UNDERSTOOD },
    { way: 'a password', env: WITH_TOKEN, headers: basic('oncall'), withoutEither: 403 },
    { way: 'Cloudflare Access', env: DATABASE, access: ONCALL, headers: {}, withoutEither: 403 },
  ];

  it.each(WAYS)('comes from our own pages, with $way', async ({ headers, withoutEither, ...options }) => {
    const { call, lines } = startOpsWorker(options);
    const status = async (more: Record<string, string>, init: RequestInit = {}, path = ACTION) =>
      (await call(path, { method: 'POST', ...init, headers: { ...headers, ...more } })).status;
    for (const same of SAME) expect([same, await status(same)]).toEqual([same, UNDERSTOOD]);
    for (const other of OTHER) {
      expect([other, await status(other)]).toEqual([other, 403]);
      for (const path of ['/ops/event?source=a&event_id=b', '/ops/bulk']) {
        expect([other, await status(other, { body: 'action=retry' }, path)]).toEqual([other, 403]);
      }
      for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) expect(await status(other, { method })).toBe(403);
      for (const method of ['GET', 'HEAD']) expect(await status(other, { method }, PAGE)).toBe(LET_IN);
    }
    expect(await status({})).toBe(withoutEither);
    expect(lines.filter((line) => !isRefused(line))).toEqual([]);
  });

  it('has a JSON body, which a page of another site cannot send without asking', async () => {
    const { call } = startOpsWorker({ env: WITH_TOKEN });
    const status = async (type: string) =>
      (await call(ACTION, { method: 'POST', body: '{}', headers: { ...BEARER, 'content-type': type } })).status;
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'text/plain; a=application/json']) {
      expect(await status(type)).toBe(415);
    }
    expect(await status('application/json; charset=utf-8')).toBe(UNDERSTOOD);
  });
});
