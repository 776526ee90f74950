import { spawnSync } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Source } from '../../src/kit/index.ts';
import type { Provider } from '../../src/providers/index.ts';
import { secretName } from '../../src/receiver/secrets.ts';
import type { Account } from '../cloudflare/api.ts';
import { TENANTS_KEY } from '../config/secret-form.ts';
import { type WorkerConfigs, wranglerFlags } from '../config/worker-config.ts';
import { UserError } from '../lib/user-error.ts';
import type { Secrets } from './workers.ts';

export type Outcome = 'ok' | 'done' | 'needs';

/** What the person at the terminal sees and answers. */
export class Terminal {
  readonly isAsking: boolean;
  private readline: Interface | undefined;
  private lines: AsyncIterator<string> | undefined;
  private hidden = false;
  private readonly isTimed: boolean;
  /** When the last step was done. */
  private last = performance.now();

  /** Without `asks` every answer is empty. `timed`: says how long each step has taken. */
  constructor({ asks, timed = false }: { readonly asks: boolean; readonly timed?: boolean }) {
    this.isAsking = asks;
    this.isTimed = timed;
  }

  step(outcome: Outcome, name: string, text: string): void {
    const now = performance.now();
    const seconds = this.isTimed ? ` (${((now - this.last) / 1000).toFixed(1)} s)` : '';
    this.last = now;
    console.log(`${outcome.padEnd(6)}${name.padEnd(11)}${text}${seconds}`);
  }

  note(text: string): void {
    console.log(`${' '.repeat(17)}${text}`);
  }

  /** What is typed is not shown. */
  async askHidden(question: string): Promise<string> {
    this.hidden = true;
    return this.answer(`${question}: `).finally(() => (this.hidden = false));
  }

  /** The empty answer is yes, and so is the answer if nobody is asked. */
  async confirm(question: string): Promise<boolean> {
    return /^(y|yes)?$/i.test(await this.ask(`${question} (y/n) [y]`));
  }

  ask(question: string): Promise<string> {
    return this.answer(`${question}: `);
  }

  close(): void {
    this.readline?.close();
  }

  private async answer(question: string): Promise<string> {
    if (!this.isAsking) return '';
    process.stdout.write(question);
    const { done, value } = await this.input().next();
    // The end of the line that was typed is not seen here.
    if (this.hidden || !process.stdin.isTTY) process.stdout.write('\n');
    if (!done) return value.trim();
    throw new UserError('nobody answers: run it in a terminal, or with --yes and the values in the environment');
  }

  /** One reader for all questions: lines that are piped in may come faster than they are asked for. */
  private input(): AsyncIterator<string> {
    if (this.lines) return this.lines;
    const echo = new Writable({
      write: (chunk, _encoding, done) => {
        if (!this.hidden) process.stdout.write(chunk);
        done();
      },
    });
    const terminal = process.stdin.isTTY ?? false;
    this.readline = createInterface({ input: process.stdin, output: echo, terminal, historySize: 0 });
    // A terminal in raw mode sends no signal for Ctrl-C.
    this.readline.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    this.lines = this.readline[Symbol.asyncIterator]();
    return this.lines;
  }
}

export interface Made {
  readonly configs: WorkerConfigs;
  readonly sources: Readonly<Record<string, Source>>;
  readonly account: Account;
  readonly address: string;
  readonly console: string | undefined;
  readonly secrets: Secrets;
  /** The secrets that each Worker has now, by its name. */
  readonly stored: Readonly<Record<string, readonly string[]>>;
  /** The sources of which no delivery has arrived. */
  readonly silent: readonly string[];
}

/**
 * Where the Workers are, and what only a person can do: never more than six things, each with a link or a command. It goes by what there is and not by what
 * this run has made, so that a second run forgets nothing.
 */
export function summary({ configs, sources, account, address, console, secrets, stored, silent }: Made): string {
  const { receiver, consumer, ops } = configs;
  const todo: string[] = [];
  const withTenants = silent.filter((name) => sources[name]?.tenants);
  const registered = silent.filter((name) => !withTenants.includes(name));
  if (registered.length > 0) {
    const lines = registered.map((name) => {
      const { provider } = sources[name] ?? {};
      return `     ${address}/webhooks/${name}  ${provider ? pageOf(provider) : ''}`.trimEnd();
    });
    todo.push(['register these addresses at the senders, of which nothing has arrived yet:', ...lines].join('\n'));
    const madeUp = secrets.madeUp.filter((name) => name !== 'OPS_TOKEN' && name !== TENANTS_KEY).join(', ');
    const put = `npx wrangler secret put ${secretName(registered[0] ?? '')} ${wranglerFlags(receiver)}`;
    const made = madeUp && ` (made up now: ${madeUp})`;
    todo.push(`give the receiver the secret of each sender that shows one${made}: ${put}`);
  }
  if (withTenants.length > 0) {
    const add = withTenants.map(
      (name) => `     npm run ops -- tenants add ${name} <tenant> --env=${receiver.environment}`,
    );
    todo.push(['make the tenants of these sources, which have an address each (docs/tenants.md):', ...add].join('\n'));
  }
  if (ops && !ops.vars.ACCESS_AUD) {
    const untilThen = stored[ops.name]?.includes('OPS_TOKEN') ? 'any name and the OPS_TOKEN open it' : 'nobody gets in';
    const page = `https://dash.cloudflare.com/${account.id}/workers/services/view/${ops.name}/production/settings`;
    todo.push(`protect the console with Cloudflare Access: ${page} (docs/console.md). Until then, ${untilThen}`);
  }
  if (!stored[consumer.name]?.includes('ALERT_WEBHOOK_URL')) {
    const put = `npx wrangler secret put ALERT_WEBHOOK_URL ${wranglerFlags(consumer)}`;
    todo.push(`be told when work fails: ${put} (docs/alerts.md)`);
  }
  const written = spawnSync('git', ['status', '--porcelain', '--', 'wrangler*.toml', 'worker-configuration*.d.ts']);
  if (written.stdout?.length) todo.push('commit what was written: git commit -am "Where it runs"');
  const where = [`\nreceiver  ${address}/webhooks/<source>`, ...(console ? [`console   ${console}/ops`] : [])];
  return [...where, '\nwhat is left for you', ...todo.map((text, index) => `  ${index + 1}  ${text}`)].join('\n');
}

/** The sender's own page about it, if there is one. */
export function pageOf({ docs }: Provider): string {
  return docs.startsWith('https://') ? docs : '';
}
