import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { startConsole, TOKEN } from './receiver.ts';

const NOW = new Date('2026-03-10T12:00:00Z');
const LOCAL_DATABASE = 'postgres://claimcheck:secret@127.0.0.1:5432/claimcheck';
const REMOTE_DATABASE = 'postgres://claimcheck:secret@ep-x.eu-central-1.aws.neon.tech/claimcheck';
/** A path that needs no database. */
const PATH = '/ops/api/openapi.json';

describe('without OPS_TOKEN and Cloudflare Access', () => {
  it.each([
    ['a deployed Worker', REMOTE_DATABASE, 'https://hooks.example.com', {}],
    ['a deployed Worker that is asked for localhost', REMOTE_DATABASE, 'http://localhost', {}],
    ['a local database behind another host name, as with DNS rebinding', LOCAL_DATABASE, 'http://evil.example', {}],
    ['a tunnel that rewrites the host', LOCAL_DATABASE, 'http://localhost', { 'x-forwarded-for': '203.0.113.9' }],
  ])('everything under /ops is 404 on %s', async (_what, databaseUrl, host, headers) => {
    const { call } = startConsole({ env: { DATABASE_URL: databaseUrl } });
    for (const path of ['/ops', '/ops/', '/ops/events', '/ops/metrics', '/ops/sign-in', PATH]) {
      expect((await call(path, { headers }, host)).status).toBe(404);
    }
  });

  it.each(['http://localhost:8787', 'http://127.0.0.1:8787', 'http://[::1]:8787'])(
    'the console is open on %s if the database is local',
    async (host) => {
      const { call } = startConsole({ env: { DATABASE_URL: LOCAL_DATABASE } });
      expect((await call(PATH, {}, host)).status).toBe(200);
    },
  );

  it('a page of another site can not change anything in an open console', async () => {
    const { call } = startConsole({ env: { DATABASE_URL: LOCAL_DATABASE } });
    const post = (headers: Record<string, string>) =>
      call('/ops/api/events/retry', { method: 'POST', body: '{"filter":{}}', headers }, 'http://localhost:8787');
    const json = { 'content-type': 'application/json' };
    expect((await post({ ...json, origin: 'https://evil.example' })).status).toBe(403);
    expect((await post({ ...json, 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await post({ ...json, 'sec-fetch-site': 'same-site' })).status).toBe(403);
    expect((await post({ 'content-type': 'text/plain' })).status).toBe(415);
    expect((await post({ ...json, origin: 'http://localhost:8787', 'sec-fetch-site': 'same-origin' })).status).toBe(
      400,
    );
  });
});

describe('a mistake in the configuration', () => {
  it.each([
    ['ops_token_too_short', { OPS_TOKEN: 'x'.repeat(31) }],
    ['access_incomplete', { ACCESS_TEAM_DOMAIN: 'acme.cloudflareaccess.com' }],
    ['access_incomplete', { ACCESS_AUD: 'audience' }],
    ['no_rate_limits', { OPS_TOKEN: TOKEN, OPS_SIGN_INS: undefined, OPS_REQUESTS: undefined }],
  ])('%s switches the console off, also on this machine, and is logged once', async (outcome, env) => {
    const { call, lines } = startConsole({ env: { DATABASE_URL: LOCAL_DATABASE, ...env } });
    for (const host of ['https://hooks.example.com', 'http://localhost:8787']) {
      const headers = { authorization: `Bearer ${TOKEN}` };
      expect((await call(PATH, { headers }, host)).status).toBe(404);
    }
    expect(lines).toEqual([{ step: 'configuration', outcome }]);
  });
});

describe('with OPS_TOKEN', () => {
  const env = { DATABASE_URL: REMOTE_DATABASE, OPS_TOKEN: TOKEN };

  it('the API takes the token as a bearer and nothing else', async () => {
    const { call } = startConsole({ env });
    const status = async (authorization?: string) =>
      (await call(PATH, authorization === undefined ? {} : { headers: { authorization } })).status;
    expect(await status(`Bearer ${TOKEN}`)).toBe(200);
    for (const wrong of [
      undefined,
      '',
      TOKEN,
      `Basic ${TOKEN}`,
      `Bearer ${TOKEN}x`,
      `Bearer ${TOKEN.slice(1)}`,
      'Bearer ',
    ]) {
      expect(await status(wrong)).toBe(401);
    }
  });

  it('crypto.subtle.verify alone decides whether the token is right, so that the time of an answer reveals nothing', async () => {
    const { call } = startConsole({ env });
    const status = async (token: string) =>
      (await call(PATH, { headers: { authorization: `Bearer ${token}` } })).status;
    const verify = vi.spyOn(crypto.subtle, 'verify').mockResolvedValue(true);
    expect(await status('wrong')).toBe(200);
    verify.mockResolvedValue(false);
    expect(await status(TOKEN)).toBe(401);
    verify.mockRestore();
  });

  it('a console on this machine is not open either', async () => {
    const { call } = startConsole({ env: { ...env, DATABASE_URL: LOCAL_DATABASE } });
    expect((await call(PATH, {}, 'http://localhost:8787')).status).toBe(401);
  });

  it('requests over the limit are refused before the token is compared', async () => {
    const asked: unknown[] = [];
    const limit = async (options: unknown) => ({ success: asked.push(options) <= 2 });
    const { call } = startConsole({ env: { ...env, OPS_REQUESTS: { limit } } });
    const headers = { authorization: `Bearer ${TOKEN}`, 'cf-connecting-ip': '203.0.113.9' };
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await call(PATH, { headers })).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect(asked[0]).toEqual({ key: '203.0.113.9' });
  });

  it('no answer may be cached, framed or given a script of its own', async () => {
    const { call } = startConsole({ env });
    for (const path of ['/ops', '/ops/sign-in', '/ops/nothing', PATH]) {
      const { headers } = await call(path);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(headers.get('content-security-policy')).not.toContain('unsafe');
    }
  });
});

describe('with Cloudflare Access', () => {
  const ISSUER = 'https://acme.cloudflareaccess.com';
  const AUDIENCE = '4714c1358e65fe4b408ad6d432a5f878f08194bdb4752441fd56faefa9b2b6f2';
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const otherKeys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const env = { DATABASE_URL: REMOTE_DATABASE, ACCESS_TEAM_DOMAIN: 'acme.cloudflareaccess.com', ACCESS_AUD: AUDIENCE };
  const seconds = NOW.getTime() / 1000;
  const claims = {
    iss: ISSUER,
    aud: [AUDIENCE],
    email: 'ada@example.com',
    exp: seconds + 600,
    nbf: seconds - 10,
  };

  /** Signs as Cloudflare does, with node:crypto. */
  function jwt(payload: object, { key = keys.privateKey, header = {} }: { key?: KeyObject; header?: object } = {}) {
    const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signed = `${encoded({ alg: 'RS256', kid: 'one', ...header })}.${encoded(payload)}`;
    return `${signed}.${createSign('RSA-SHA256').update(signed).sign(key).toString('base64url')}`;
  }

  function startWithIssuer({ more = {}, now = NOW, down = false } = {}) {
    const asked: string[] = [];
    const issuer = { kid: 'one', down };
    const started = startConsole({
      env: { ...env, ...more },
      now,
      fetch: async (url) => {
        asked.push(String(url));
        if (issuer.down) throw new TypeError('network');
        return Response.json({
          keys: [{ kid: issuer.kid, alg: 'RS256', ...keys.publicKey.export({ format: 'jwk' }) }],
        });
      },
    });
    const withJwt = async (token?: string) =>
      (await started.call(PATH, token === undefined ? {} : { headers: { 'cf-access-jwt-assertion': token } })).status;
    return { ...started, withJwt, asked, issuer };
  }

  it('a token that Cloudflare signed for us gets in, and its keys are loaded once', async () => {
    const { withJwt, asked } = startWithIssuer();
    for (let n = 0; n < 3; n++) expect(await withJwt(jwt(claims))).toBe(200);
    expect(await withJwt(jwt({ ...claims, aud: AUDIENCE }))).toBe(200);
    expect(await withJwt(jwt({ ...claims, email: undefined, common_name: 'a service token' }))).toBe(200);
    expect(asked).toEqual([`${ISSUER}/cdn-cgi/access/certs`]);
  });

  it.each([
    ['no token', undefined],
    ['an empty token', ''],
    ['a token that is not a JWT', 'a.b.c'],
    ['another signature', jwt(claims, { key: otherKeys.privateKey })],
    ['an unknown key', jwt(claims, { header: { kid: 'two' } })],
    [
      'no signature',
      `${jwt(claims, { header: { alg: 'none' } })
        .split('.')
        .slice(0, 2)
        .join('.')}.`,
    ],
    ['the algorithm none', jwt(claims, { header: { alg: 'none' } })],
    ['the algorithm HS256', jwt(claims, { header: { alg: 'HS256' } })],
    ['another issuer', jwt({ ...claims, iss: 'https://evil.cloudflareaccess.com' })],
    ['another audience', jwt({ ...claims, aud: ['another'] })],
    ['no audience', jwt({ ...claims, aud: undefined })],
    ['an expired token', jwt({ ...claims, exp: seconds })],
    ['no expiry', jwt({ ...claims, exp: undefined })],
    ['a token that is not valid yet', jwt({ ...claims, nbf: seconds + 60 })],
    ['nobody in it', jwt({ ...claims, email: '' })],
    ['another signed part', jwt(claims).replace(/\.[^.]+\./, `.${Buffer.from('{}').toString('base64url')}.`)],
  ])('a request with %s is refused', async (_what, token) => {
    const { withJwt } = startWithIssuer();
    expect(await withJwt(token)).toBe(401);
  });

  it('nobody gets in while the keys can not be loaded', async () => {
    const { withJwt, issuer, time } = startWithIssuer({ down: true });
    expect(await withJwt(jwt(claims))).toBe(401);
    issuer.down = false;
    time.now = new Date(NOW.getTime() + 61_000);
    expect(await withJwt(jwt(claims))).toBe(200);
  });

  it('a new key is loaded when a token names it, but not for every token that names an unknown one', async () => {
    const { withJwt, asked, issuer, time } = startWithIssuer();
    await withJwt(jwt(claims));
    for (let n = 0; n < 5; n++) await withJwt(jwt(claims, { header: { kid: `unknown ${n}` } }));
    expect(asked).toHaveLength(1);
    issuer.kid = 'two';
    time.now = new Date(NOW.getTime() + 61_000);
    expect(await withJwt(jwt(claims, { header: { kid: 'two' } }))).toBe(200);
    expect(asked).toHaveLength(2);
  });

  it('OPS_TOKEN is accepted by the API beside it, and only if it is configured', async () => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect((await startWithIssuer().call(PATH, { headers })).status).toBe(401);
    expect((await startWithIssuer({ more: { OPS_TOKEN: TOKEN } }).call(PATH, { headers })).status).toBe(200);
  });
});
