import { describe, expect, it } from 'vitest';
import { startConsole, TOKEN } from './receiver.ts';

const NOW = new Date('2026-03-10T12:00:00Z');
const HOUR = 3_600_000;
const env = {
  DATABASE_URL: 'postgres://claimcheck:secret@ep-x.eu-central-1.aws.neon.tech/claimcheck',
  OPS_TOKEN: TOKEN,
};
/** A page that needs a session, and no database. */
const PAGE = '/ops/nothing';

const form = (fields: Record<string, string>, headers: Record<string, string> = {}) => {
  const body = new URLSearchParams(fields).toString();
  const type = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(body.length) };
  return { method: 'POST', body, headers: { ...type, ...headers } };
};

async function signedIn(more: Record<string, unknown> = {}) {
  const started = startConsole({ env: { ...env, ...more }, now: NOW });
  const answer = await started.call('/ops/sign-in', form({ token: TOKEN, name: 'Ada' }));
  const cookie = answer.headers.get('set-cookie') ?? '';
  const visit = (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
    started.call(path, { ...init, headers: { ...init.headers, cookie: cookie.split(';')[0] ?? '' } });
  return { ...started, answer, cookie, visit };
}

describe('a session', () => {
  it('is a cookie for this host alone, for scripts and other sites out of reach, and it lasts twelve hours', async () => {
    const { cookie, visit, time } = await signedIn();
    expect(cookie).toMatch(/^__Host-ops=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; Secure; SameSite=Strict$/);
    time.now = new Date(NOW.getTime() + 12 * HOUR - 1);
    expect((await visit(PAGE)).status).toBe(404);
    time.now = new Date(NOW.getTime() + 12 * HOUR);
    expect((await visit(PAGE)).status).toBe(401);
  });

  it('ends for everybody when OPS_TOKEN is changed', async () => {
    const { cookie } = await signedIn();
    const { call } = startConsole({ env: { ...env, OPS_TOKEN: `${TOKEN}-new` }, now: NOW });
    expect((await call(PAGE, { headers: { cookie: cookie.split(';')[0] ?? '' } })).status).toBe(401);
  });

  it('is no key to the API, so that no page of another site can use it there', async () => {
    const { visit } = await signedIn();
    expect((await visit('/ops/api/openapi.json')).status).toBe(401);
  });

  it('is ended by signing out', async () => {
    const { visit } = await signedIn();
    const page = await (await visit(PAGE)).text();
    const token = /name="form_token" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const answer = await visit('/ops/sign-out', form({ form_token: token }));
    expect(answer.status).toBe(303);
    expect(answer.headers.get('set-cookie')).toContain('__Host-ops=; Path=/; Max-Age=0;');
  });

  it('has form tokens of its own: those of another session are refused', async () => {
    const [one, other] = [await signedIn(), await signedIn()];
    const page = await (await other.visit(PAGE)).text();
    const token = /name="form_token" value="([^"]+)"/.exec(page)?.[1] ?? '';
    expect((await one.visit('/ops/sign-out', form({ form_token: token }))).status).toBe(403);
    const crossSite = { 'sec-fetch-site': 'cross-site' };
    expect((await other.visit('/ops/sign-out', form({ form_token: token }, crossSite))).status).toBe(403);
    expect((await other.visit('/ops/sign-out', form({ form_token: token }, { origin: 'null' }))).status).toBe(403);
  });
});

describe('signing in', () => {
  it('leads only to a page of the console', async () => {
    const { call } = startConsole({ env, now: NOW });
    const leadsTo = async (next: string) =>
      (await call('/ops/sign-in', form({ token: TOKEN, next }))).headers.get('location');
    expect(await leadsTo('/ops/events?status=parked')).toBe('/ops/events?status=parked');
    for (const next of ['https://evil.example', '//evil.example', '/webhooks', '/opsx', 'javascript:alert(1)', '']) {
      expect(await leadsTo(next)).toBe('/ops');
    }
  });

  it('is refused with a wrong token, from another site, over the limit of attempts, and with a huge form', async () => {
    let attempts = 0;
    const OPS_SIGN_INS = { limit: async () => ({ success: ++attempts <= 3 }) };
    const { call, lines } = startConsole({ env: { ...env, OPS_SIGN_INS }, now: NOW });
    const status = async (init: RequestInit) => (await call('/ops/sign-in', init)).status;
    expect(await status(form({ token: TOKEN }, { 'sec-fetch-site': 'cross-site' }))).toBe(403);
    expect(await status(form({ token: 'wrong' }))).toBe(401);
    expect(await status(form({ token: TOKEN, name: 'x'.repeat(20_000) }))).toBe(413);
    expect(await status({ method: 'POST', body: `token=${TOKEN}` })).toBe(413);
    expect(await status(form({ token: TOKEN }))).toBe(429);
    expect(lines.map((line) => Reflect.get(line, 'outcome'))).toEqual([
      'sign_in_refused',
      'sign_in_refused',
      'sign_in_refused',
      'sign_in_refused',
      'too_many_sign_ins',
    ]);
  });

  it('gives no session to somebody whom Cloudflare Access must let in', async () => {
    const access = { ACCESS_TEAM_DOMAIN: 'acme.cloudflareaccess.com', ACCESS_AUD: 'audience' };
    const { answer, visit } = await signedIn(access);
    expect(answer.headers.get('set-cookie')).toBe(null);
    expect((await visit(PAGE)).status).toBe(403);
  });
});
