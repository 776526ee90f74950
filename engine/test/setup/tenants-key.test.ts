import { describe, expect, it, vi } from 'vitest';
import type { WorkerConfig, WorkerConfigs } from '../../cli/config/worker-config.ts';
import { summary, type Terminal } from '../../cli/setup/terminal.ts';
import { askForSecrets } from '../../cli/setup/workers.ts';
import { github } from '../../src/providers/github.ts';
import { useAccount } from './account.ts';
import { newScript } from './cloudflare.ts';

const account = useAccount();
const OLD = 'the-old-key-of-32-characters-or-more';
const NEW = 'the-new-key-of-32-characters-or-more';
const WORKERS = ['checkout-receiver', 'checkout-ops'] as const;

/** The Workers as they are deployed, with these secrets. */
function deployed(secrets: Readonly<Record<string, string>>): void {
  const bindings = Object.entries(secrets).map(([name, text]) => ({ name, type: 'secret_text', text }));
  for (const name of WORKERS) {
    const version = {
      id: 'v',
      metadata: { main_module: '', bindings, compatibility_date: '' },
      modules: new Map(),
    };
    const deployments = [{ versions: [{ version_id: 'v', percentage: 100 }] }];
    account.cloudflare.scripts.set(name, { ...newScript(), versions: [version], deployments });
  }
}
const keys = () =>
  WORKERS.map((name) => {
    const { TENANTS_KEY, TENANTS_KEY_PREVIOUS } = account.cloudflare.valuesOf(name);
    return [TENANTS_KEY, TENANTS_KEY_PREVIOUS];
  });
async function rotate(args: readonly string[], answers: readonly string[] = []) {
  const { child, result } = account.run(['secret', 'rotate', 'TENANTS_KEY', ...args]);
  child.stdin?.end(answers.map((answer) => `${answer}\n`).join(''));
  return result;
}

describe('a rotation of TENANTS_KEY', () => {
  it('gives receiver and ops both keys, and takes the old one away at its end', async () => {
    deployed({ TENANTS_KEY: OLD });
    for (const [answers, words] of [
      [[OLD, OLD], 'the new key is the old one'],
      [[OLD, 'short'], 'TENANTS_KEY has fewer than 32 characters'],
      [['short', NEW], 'TENANTS_KEY_PREVIOUS has fewer than 32 characters'],
    ] as const) {
      const { code, error } = await rotate([], answers);
      expect([code, error.trim().split('\n'), keys()]).toEqual([
        1,
        [expect.stringContaining(words)],
        WORKERS.map(() => [OLD, undefined]),
      ]);
    }
    // The second Worker can't be reached: the next run gives it the keys as well.
    account.cloudflare.fault = (call) =>
      call.includes('PATCH /workers/scripts/checkout-ops') ? { status: 500, message: 'No' } : undefined;
    expect((await rotate([], [OLD, NEW])).code).toBe(1);
    account.cloudflare.fault = undefined;
    expect(keys()).toEqual([
      [NEW, OLD],
      [OLD, undefined],
    ]);
    const { code, text } = await rotate([], [OLD, NEW]);
    expect([code, keys()]).toEqual([0, WORKERS.map(() => [NEW, OLD])]);
    expect(text).not.toMatch(/the-(old|new)-key/);
    expect((await rotate([])).text).toContain('there are two keys already');
    expect((await rotate(['--finish'])).code).toBe(0);
    expect(keys()).toEqual(WORKERS.map(() => [NEW, undefined]));
  });

  it('makes one up that is shown once, and needs one that is there', async () => {
    deployed({ TENANTS_KEY: OLD });
    const { text } = await rotate([], [OLD, '']);
    const [, made] = /^.*made up, and shown only now: (\w{64})$/m.exec(text) ?? [];
    expect([made, keys()]).toEqual([expect.any(String), WORKERS.map(() => [made, OLD])]);
    deployed({});
    expect((await rotate([])).error).toContain('checkout-receiver has no TENANTS_KEY yet: npm run setup sets it');
  });
});

describe('setup of a source with tenants', () => {
  const sources = { shops: { provider: github, types: '*', tenants: true } } as const;
  const worker = (name: string, secrets: readonly string[]): WorkerConfig => ({
    ...{ path: `${name}.toml`, environment: '', name, main: 'index.ts', vars: {}, secrets, consumes: [] },
    ...{ deadLetterQueues: {}, produces: {}, raw: {} },
  });
  const configs: WorkerConfigs = {
    receiver: worker('receiver', ['DATABASE_URL', 'TENANTS_KEY']),
    consumer: worker('consumer', ['DATABASE_URL']),
    ops: worker('ops', ['DATABASE_URL', 'TENANTS_KEY']),
  };
  const terminal = (answers: readonly string[] | undefined) => {
    const left = [...(answers ?? [])];
    const askHidden = async () => left.shift() ?? expect.fail('nobody answers');
    return { isAsking: answers !== undefined, askHidden, note() {}, step() {} } as unknown as Terminal;
  };
  const has = (name: string) => ({ queues: [], workers: { [name]: { secrets: ['TENANTS_KEY'], produces: [] } } });
  const ask = async (answers?: readonly string[], before = {}) =>
    askForSecrets(configs, sources, { queues: [], workers: {}, ...before }, terminal(answers), 'https://x');
  const KEY = 'k'.repeat(32);

  it('gives receiver and ops the same key, that of the environment, of the person, or a new one', async () => {
    const given = { receiver: { TENANTS_KEY: KEY }, consumer: {}, ops: { TENANTS_KEY: KEY } };
    vi.stubEnv('TENANTS_KEY', KEY);
    expect((await ask()).values).toMatchObject(given);
    vi.stubEnv('TENANTS_KEY', 'short');
    await expect(ask()).rejects.toThrow('in the environment, TENANTS_KEY has fewer than 32 characters');
    vi.unstubAllEnvs();
    expect((await ask(['short', KEY])).values).toMatchObject(given);
    const { values, madeUp } = await ask(['']);
    expect(values.receiver?.TENANTS_KEY).toMatch(/^\w{64}$/);
    expect([values.ops?.TENANTS_KEY, values.consumer]).toEqual([values.receiver?.TENANTS_KEY, {}]);
    expect(madeUp).toContain('TENANTS_KEY');
    await expect(ask()).rejects.toThrow(/^missing in the environment: TENANTS_KEY$/);
  });

  it('makes up no key if one of the two has one, which nobody can read again', async () => {
    await expect(ask([''], has('receiver'))).rejects.toThrow('ops.toml requires TENANTS_KEY');
    expect((await ask([KEY], has('receiver'))).values).toMatchObject({ receiver: {}, ops: { TENANTS_KEY: KEY } });
  });

  it('ends with the command that makes a tenant, and with no address that the source does not have', async () => {
    const secrets = await ask(['']);
    const made = { configs, sources, account: { id: 'a', name: 'a' } as never, address: 'https://hooks', secrets };
    const text = summary({ ...made, console: 'https://ops', stored: {}, silent: ['shops'] });
    expect(text).toContain('npm run ops -- tenants add shops <tenant> --env=\n');
    expect(text).not.toMatch(/webhooks\/shops|SHOPS_WEBHOOK_SECRET|made up now/);
  });
});
