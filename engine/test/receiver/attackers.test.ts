// What somebody can do with a captured delivery, a stolen secret or a look at the queue. docs/security.md says the same
// in words.
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { defineProvider, defineSources } from '../../src/kit/index.ts';
import { github } from '../../src/providers/github.ts';
import { gitlab } from '../../src/providers/gitlab.ts';
import { meta } from '../../src/providers/meta.ts';
import { learnCredentials } from '../canaries/answers.ts';
import { BODY_MARK, search, takeLeaks } from '../canaries/canaries.ts';
import { type SignedDelivery, signers } from '../signatures.ts';
import { startReceiver } from './in-node.ts';

/** The provider asks for a signed text of its choice, before anything is signed. */
const asking = (name: string, like?: RegExp) =>
  defineProvider({
    name,
    docs: 'none: it exists in this test only',
    scheme: { signature: 'header:x-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
    id: { at: '{sha256}', signed: true },
    type: [],
    handshakes: [
      {
        method: 'GET',
        when: [{ at: 'query:token', ...(like ? { like } : {}) }],
        reply: {
          status: 200,
          headers: { 'content-type': 'application/signed+json' },
          json: { signed: '{hmac-hex:query:token}' },
        },
      },
    ],
  });

const sources = defineSources({
  'github-one': { provider: github, types: [] },
  'github--two': { provider: github, types: [] },
  gitlab: { provider: gitlab, types: [] },
  careless: { provider: asking('careless'), types: [] },
  careful: { provider: asking('careful', /^\w+$/), types: [] },
});

const SECRETS = {
  GITHUB_ONE_WEBHOOK_SECRET: 'the secret of the first source',
  GITHUB_TWO_WEBHOOK_SECRET: 'the secret of the second source',
  CARELESS_WEBHOOK_SECRET: 'the secret of the careless source',
  CAREFUL_WEBHOOK_SECRET: 'the secret of the careful source',
  GITLAB_WEBHOOK_SECRET: 'the token of GitLab, long enough',
};
const BODY = `{"action":"opened","note":"${BODY_MARK}"}`;

async function deliver(source: string, delivery: SignedDelivery, env: Record<string, string> = SECRETS) {
  const { send, forwarded } = startReceiver({ sources, env });
  return { status: (await send(source, delivery)).status, forwarded };
}

const captured = (secret: string, body = BODY) => signers.github(body, { secret });

it('a captured delivery is refused at another source of the same provider', async () => {
  const delivery = await captured(SECRETS.GITHUB_ONE_WEBHOOK_SECRET);
  expect((await deliver('github-one', delivery)).status).toBe(200);
  expect((await deliver('github--two', delivery)).status).toBe(401);
});

it('the verify token of a source confirms no other source of the same provider', async () => {
  const tokens = { META_ONE_VERIFY_TOKEN: 'the first token', META_TWO_VERIFY_TOKEN: 'the second token' };
  const secret = 'the secret of Meta';
  const secrets = {
    META_ONE_WEBHOOK_SECRET: secret,
    META_TWO_WEBHOOK_SECRET: secret,
    META_WITHOUT_WEBHOOK_SECRET: secret,
  };
  const one = { provider: meta, types: [] };
  const all = { 'meta-one': one, 'meta-two': one, 'meta-without': one };
  const { send } = startReceiver({ sources: all, env: { ...tokens, ...secrets } });
  const ask = async (source: string, token: string) => {
    const query = new URLSearchParams({ 'hub.mode': 'subscribe', 'hub.challenge': '1', 'hub.verify_token': token });
    return (await send(`${source}?${query}`, { method: 'GET' })).status;
  };
  const [first, second] = Object.values(tokens) as [string, string];
  expect([await ask('meta-one', first), await ask('meta-two', second)]).toEqual([200, 200]);
  expect([await ask('meta-one', second), await ask('meta-two', first)]).toEqual([401, 401]);
  // Without a token of its own, not even none is the right one.
  expect([await ask('meta-without', first), await ask('meta-without', '')]).toEqual([401, 401]);
});

it('a captured token of a provider that signs nothing sends any event', async () => {
  const headers = { 'x-gitlab-token': SECRETS.GITLAB_WEBHOOK_SECRET, 'idempotency-key': 'forged' };
  expect((await deliver('gitlab', { headers, body: '{"object_kind":"forged"}' })).status).toBe(200);
});

it('a forwarded delivery shows its body to a reader of the queue, but no secret and no signature', async () => {
  const delivery = await captured(SECRETS.GITHUB_ONE_WEBHOOK_SECRET);
  learnCredentials(new Headers(delivery.headers));
  const { forwarded } = await deliver('github-one', delivery);
  const message = gunzipSync(forwarded[0] ?? new Uint8Array()).toString('utf8');
  expect(message).toContain(BODY_MARK);
  search(message, 'a forwarded delivery', ['body']);
  expect(takeLeaks()).toEqual([]);
  // The same search finds the signature where it is.
  search(JSON.stringify(delivery.headers), 'the delivery itself');
  expect(takeLeaks()).toHaveLength(1);
});

it('a handshake signs a text of a stranger only if a pattern limits it, so that nobody can let us sign a delivery', async () => {
  const { send } = startReceiver({ sources, env: SECRETS });
  const ask = async (source: string, token: string) => {
    const answer = await send(`${source}?${new URLSearchParams({ token })}`, { method: 'GET' });
    return [answer.status, answer.headers.get('content-type'), 'signed' in ((await answer.json()) as object)];
  };
  expect(await ask('careless', 'abc')).toEqual([503, 'application/problem+json', false]);
  expect(await ask('careful', 'abc')).toEqual([200, 'application/signed+json', true]);
  expect(await ask('careful', '{"id":"forged"}')).toEqual([401, 'application/problem+json', false]);
});
