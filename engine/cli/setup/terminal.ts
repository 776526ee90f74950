import { spawnSync } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Source } from '../../src/kit/index.ts';
import type { Provider } from '../../src/providers/index.ts';
import { secretName } from '../../src/receiver/secrets.ts';
import { type WorkerConfigs, wranglerFlags } from '../config/worker-config.ts';
import { UserError } from '../lib/user-error.ts';
import type { Secrets } from './workers.ts';

export type Outcome = 'ok' | 'done' | 'would' | 'needs';

/** What the person at the terminal sees and answers. */
export class Terminal {
  readonly isAsking: boolean;
  private readline: Interface | undefined;
  private lines: AsyncIterator<string> | undefined;
  private hidden = false;

  /** Without `asks` every question is answered by its default. */
  constructor({ asks }: { readonly asks: boolean }) {
    this.isAsking = asks;
  }

  step(outcome: Outcome, name: string, text: string): void {
    console.log(`${outcome.padEnd(6)}${name.padEnd(11)}${text}`);
  }

  /** A line that belongs to the step above it. */
  note(text: string): void {
    for (const line of text.split('\n')) console.log(`${' '.repeat(17)}${line}`);
  }

  /** The empty answer is `fallback`, and so is every answer if nobody is asked. */
  async ask(question: string, fallback = ''): Promise<string> {
    return (await this.answer(`${question}${fallback && ` [${fallback}]`}: `)) || fallback;
  }

  /** What is typed is not shown. */
  async askHidden(question: string): Promise<string> {
    this.hidden = true;
    return this.answer(`${question}: `).finally(() => (this.hidden = false));
  }

  async confirm(question: string): Promise<boolean> {
    return !this.isAsking || /^y(es)?$/i.test(await this.ask(`${question} (y/n)`, 'y'));
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
  readonly account: string;
  readonly subdomain: string;
  readonly database: string;
  readonly secrets: Secrets;
  readonly isFree: boolean;
  /** The sources of which no delivery has arrived. */
  readonly silent: readonly string[];
  readonly isAlerting: boolean;
  /** Whether the console has an OPS_TOKEN. */
  readonly hasToken: boolean;
}

/**
 * What there is now, and what only a person can do: never more than five things, each with a link or a command. It goes by what
 * there is and not by what this run has made, so that a second run forgets nothing.
 */
export function summary(made: Made): string {
  const { configs, sources, account, subdomain, database, secrets, isFree, silent } = made;
  const { receiver, consumer, ops } = configs;
  const address = (name: string) => `https://${name}.${subdomain}.workers.dev`;
  const wrangler = (command: string, config = receiver) => `npx wrangler ${command} ${wranglerFlags(config)}`;
  const rows = [
    ['receiver', address(receiver.name)],
    ['consumer', `${consumer.name}, without an address`],
    ...(ops ? [['console', `${address(ops.name)}/ops`]] : []),
    ['queues', consumer.consumes.join(', ')],
    ['database', database],
    [
      'plan',
      isFree
        ? 'Free: 10,000 queue operations a day, which is about 3,300 events, or 1,650 with one effect each; messages are kept for a day'
        : 'paid, by what the queues keep',
    ],
  ];
  const todo: string[] = [];
  if (silent.length > 0) {
    const unheard = Object.fromEntries(Object.entries(sources).filter(([name]) => silent.includes(name)));
    const [example = ''] = silent;
    const madeUp = secrets.madeUp.filter((name) => name !== 'OPS_TOKEN').join(', ');
    todo.push(registration(unheard, address(receiver.name)));
    todo.push(
      `give the receiver the secret of each sender that shows one${madeUp && ` (made up now: ${madeUp})`}: ${wrangler(`secret put ${secretName(example)}`)}`,
    );
  }
  if (ops && !ops.vars.ACCESS_AUD) {
    const untilThen = made.hasToken ? 'any name and the OPS_TOKEN open it' : 'nobody gets in';
    todo.push(
      `protect the console with Cloudflare Access: https://dash.cloudflare.com/${account}/workers/services/view/${ops.name}/production/settings (docs/console.md). Until then, ${untilThen}`,
    );
  }
  if (!made.isAlerting) {
    todo.push(`be told when work fails: ${wrangler('secret put ALERT_WEBHOOK_URL', consumer)} (docs/alerts.md)`);
  }
  const written = spawnSync('git', ['status', '--porcelain', '--', 'wrangler*.toml', 'worker-configuration*.d.ts']);
  if (written.stdout?.length) todo.push('commit what was written: git commit -am "Where it runs"');
  return `
what there is
${rows.map(([name = '', text]) => `  ${name.padEnd(10)}${text}`).join('\n')}

what is left for you
${todo.map((text, index) => `  ${index + 1}  ${text}`).join('\n')}`;
}

function registration(sources: Readonly<Record<string, Source>>, receiver: string): string {
  const lines = Object.entries(sources).map(([name, { provider }]) =>
    `     ${receiver}/webhooks/${name}  ${pageOf(provider)}`.trimEnd(),
  );
  return `register these addresses at the senders, of which nothing has arrived yet:\n${lines.join('\n')}`;
}

/** The sender's own page about it, if there is one. */
export function pageOf({ docs }: Provider): string {
  return docs.startsWith('https://') ? docs : '';
}
