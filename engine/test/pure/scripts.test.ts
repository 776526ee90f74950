import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { addressOf } from '../../cli/cloudflare/api.ts';
import { mustDoBetween } from '../../cli/config/notes.ts';
import { judgeSecret } from '../../cli/config/secret-form.ts';
import { readConfigs } from '../../cli/config/worker-config.ts';
import { filterOf } from '../../cli/ops/action.ts';
import { mapPosition } from '../../cli/ops/decode.ts';
import { madeUpKeys } from '../../cli/samples/sign.ts';
import { Terminal } from '../../cli/setup/terminal.ts';
import { askForSecrets } from '../../cli/setup/workers.ts';
import { discord } from '../../src/providers/discord.ts';
import { gethook } from '../../src/providers/gethook.ts';
import { github } from '../../src/providers/github.ts';
import { type Provider, providers } from '../../src/providers/index.ts';
import { meta } from '../../src/providers/meta.ts';
import { standardwebhooks } from '../../src/providers/standardwebhooks.ts';
import { stripe } from '../../src/providers/stripe.ts';

const NOW = new Date('2026-03-01T12:00:00Z');

describe('--since and --until of npm run ops', () => {
  it.each([
    ['30m', '2026-03-01T11:30:00.000Z'],
    ['2h', '2026-03-01T10:00:00.000Z'],
    ['7d', '2026-02-22T12:00:00.000Z'],
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31T12:00', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31T12:00:30.5', '2026-01-31T12:00:30.500Z'],
    ['2026-01-31T12:00:30Z', '2026-01-31T12:00:30.000Z'],
    ['2026-01-31T12:00+05:30', '2026-01-31T06:30:00.000Z'],
  ])('%s', (since, time) => {
    expect(filterOf({ since }, NOW)).toEqual({ since: time });
    expect(filterOf({ until: since }, NOW)).toEqual({ until: time });
  });

  it('today begins at midnight in the operator’s time zone', () => {
    const midnight = new Date(NOW);
    midnight.setHours(0, 0, 0, 0);
    expect(filterOf({ since: 'today' }, NOW)).toEqual({ since: midnight.toISOString() });
  });

  it.each(['', '30', '30s', '30min', '-2h', '2026-13-01', '2026-01-31T25:00', '2026-01-31 12:00', 'on 2026-01-31'])(
    '%j is refused, and the option is named',
    (text) => {
      const takes = 'takes 30m, 2h, 7d, today, or a time such as 2026-01-31T12:00Z';
      expect(() => filterOf({ since: text }, NOW)).toThrow(`--since ${takes}`);
      expect(() => filterOf({ until: text }, NOW)).toThrow(`--until ${takes}`);
    },
  );
});

describe('the secrets of setup', () => {
  /** Somebody who answers each question by Enter, or by these secrets, one after the other. */
  const person = (...answers: string[]) =>
    ({ isAsking: true, note: console.log, askHidden: async () => answers.shift() ?? '' }) as unknown as Terminal;
  const ask = (name: string, provider: Provider, terminal = new Terminal({ asks: false })) => {
    const { receiver, consumer } = readConfigs();
    const secrets = [`${name.toUpperCase()}_WEBHOOK_SECRET`];
    const configs = { receiver: { ...receiver, secrets }, consumer: { ...consumer, secrets: [] }, ops: undefined };
    const nothing = { queues: [], workers: {} };
    const sources = { [name]: { provider, types: [] } };
    return askForSecrets(configs, sources, nothing, terminal, 'https://receiver.example.com');
  };

  it('generated secrets are printed with their names, because the sender needs them, including Meta’s verify token', async () => {
    const { madeUp, values } = await ask('meta', meta, person());
    expect(madeUp).toEqual(['META_WEBHOOK_SECRET', 'META_VERIFY_TOKEN']);
    expect(Object.keys(Object.assign({}, ...Object.values(values)))).toEqual(madeUp);
  });

  it('a secret in the environment that doesn’t have its provider’s format is refused', async () => {
    vi.stubEnv('ORDERS_WEBHOOK_SECRET', 'whsec_not base64');
    await expect(ask('orders', standardwebhooks)).rejects.toThrow(
      'in the environment, ORDERS_WEBHOOK_SECRET is not in the form that standardwebhooks gives out',
    );
    vi.unstubAllEnvs();
  });

  it('a missing secret is an error with its name if nobody can be asked', async () => {
    await expect(ask('orders', gethook)).rejects.toThrow('missing in the environment: ORDERS_WEBHOOK_SECRET');
  });

  it('a secret that can’t be right is asked for again', async () => {
    const { keys } = await ask('billing', stripe, person('re_key_1234567', 'whsec_0123456789abcdef'));
    expect(keys).toEqual({ billing: 'whsec_0123456789abcdef' });
  });

  it.each<[name: string, value: string, provider: Provider | undefined, finding: object]>([
    ['A', 'a-secret-of-the-sender\n', github, { outcome: 'wrong', sentence: expect.stringContaining('white space') }],
    ['A', ' ', github, { outcome: 'wrong', sentence: expect.stringContaining('white space') }],
    ['A', '', github, { outcome: 'wrong', sentence: expect.stringContaining('form') }],
    ['A', 're_key_1234567', stripe, { outcome: 'wrong', sentence: expect.stringContaining('begins with whsec_') }],
    ['A', 'whsec_0123456789abcdef', stripe, { outcome: 'fine' }],
    ['A', 'x', github, { outcome: 'suspicious', sentence: expect.stringContaining('only 1 bytes') }],
    ['A', 'fifteen-letters', undefined, { outcome: 'suspicious', sentence: expect.stringContaining('15 bytes') }],
    ['A', 'sixteen-letters!', github, { outcome: 'fine' }],
    // Half of a public key.
    ['A', 'ab'.repeat(16), discord, { outcome: 'wrong', sentence: expect.stringContaining('discord gives out') }],
    ['A', 'ab'.repeat(32), discord, { outcome: 'fine' }],
    ['SLACK_WEBHOOK_URL', 'y', undefined, { outcome: 'wrong', sentence: 'SLACK_WEBHOOK_URL is not a URL' }],
    ['SLACK_WEBHOOK_URL', 'https://a.b', undefined, { outcome: 'fine' }],
  ])('%s=%j is checked before it is stored', async (name, value, provider, finding) => {
    expect(await judgeSecret(name, value, provider)).toEqual(finding);
  });

  it('a generated secret passes for every provider', async () => {
    for (const provider of Object.values(providers))
      expect([provider.name, await judgeSecret('A', madeUpKeys(provider).secret, provider)]).toEqual([
        provider.name,
        { outcome: 'fine' },
      ]);
  });
});

it.each<[string, object, string | undefined]>([
  ['a domain of its own', { route: { pattern: 'hooks.example.com', custom_domain: true } }, 'hooks.example.com'],
  ['a path of a site', { routes: [{ pattern: 'example.com/hooks/*', zone_name: 'example.com' }] }, 'a.sub.workers.dev'],
  ['only a path of a site', { routes: ['example.com/hooks/*'], workers_dev: false }, undefined],
])('a Worker with %s is reached at that host', async (_what, raw, host) => {
  const account = { get: async () => ({ subdomain: 'sub' }) };
  const address = await addressOf(account as never, { name: 'a', raw } as never);
  expect(address).toBe(host && `https://${host}`);
});

it('in a terminal, answers are shown but secrets are not', async () => {
  const keyboard = Object.assign(new PassThrough(), { isTTY: true, setRawMode() {} });
  const stdin = vi.spyOn(process, 'stdin', 'get').mockReturnValue(keyboard as never);
  const shown: unknown[] = [];
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => shown.push(text) > 0);
  const terminal = new Terminal({ asks: true });
  const asked = terminal.askHidden('what');
  keyboard.write('a secret\n');
  const secret = await asked;
  const confirmed = terminal.confirm('sure?');
  keyboard.write('no\n');
  const isSure = await confirmed;
  terminal.close();
  for (const spy of [stdin, stdout]) spy.mockRestore();
  expect([secret, isSure]).toEqual(['a secret', false]);
  expect(shown.join('')).toMatch(/^what: \r?\nsure\? \(y\/n\) \[y\]: no\s+$/);
});

describe('CHANGELOG.md', () => {
  const text = `# Changelog

## Unreleased

### You must do
Wait.

## [10.10.10] - 2026-03-01

### Added
First of ten.

### You must do

Rename a.

### Fixed
More.

## [0.9.0] - 2026-02-01
First of nine.

## [0.2.0] - 2026-01-01
First of two.
### You must do
Delete b.

[10.10.10]: ../../commit/0123abc
[0.2.0]: ../../releases/v0.2.0
`;

  it.each([
    ['0.1.0', '10.10.10', '0.2.0\nDelete b.\n\n10.10.10\nRename a.'],
    ['0.2.0', '10.10.10', '10.10.10\nRename a.'],
    ['0.1.0', '0.9.0', '0.2.0\nDelete b.'],
    ['0.9.0', '0.9.0', ''],
  ])('between %s and %s a fork must do: %j', (from, to, mustDo) => {
    expect(mustDoBetween(from, to, text)).toBe(mustDo);
  });
});

it('a position names the files of this checkout if its bundle is known, and other frames are unchanged', () => {
  const map = {
    findOrigin: (line: number, column: number) =>
      line === 1 ? { fileName: '../src/a.ts', lineNumber: line + 1, columnNumber: column + 2 } : {},
  };
  const bundle = { folder: 'built', name: 'index.js', map: map as never };
  const position = 'handle (index.js:1:9) < index.js:1:5 < other (index.js:7:1) < node:internal < f (worker:1:2)';
  expect(mapPosition(position, bundle)).toEqual([
    'handle (src/a.ts:2:11)',
    'src/a.ts:2:7',
    'other (index.js:7:1)',
    'node:internal',
    'f (worker:1:2)',
  ]);
  expect(mapPosition('handle (index.js:1:9)', undefined)).toEqual(['handle (index.js:1:9)']);
});
