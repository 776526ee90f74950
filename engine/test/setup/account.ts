import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { LOOPBACK } from '../../cli/lib/port.ts';
import { type LocalDatabase, startDatabase } from '../../cli/local/stack.ts';
import { learnPassword, learnVariables } from '../canaries/canaries.ts';
import { type Checkout, makeCheckout, processesOf, type RunningCommand, runIn } from '../checkout.ts';
import { WAIT } from '../database.ts';
import { Cloudflare, type Fault } from './cloudflare.ts';
import { NeonNew } from './neon-new.ts';

/** A Neon host, which leads to this machine in every command and Worker. */
export const NEON_HOST = 'ep-cool-rain-1.eu-central-1.aws.neon.tech';

/** What the sender of the app's only source signs with. */
export const SECRET = 'the-secret-of-the-sender';

/** In the environment of somebody without an account. */
export const STRANGER = { CLOUDFLARE_API_TOKEN: '', CLOUDFLARE_ACCOUNT_ID: '' };

export interface SetupOptions {
  readonly env?: Record<string, string>;
  readonly answers?: readonly string[];
  /** Called with each request. */
  readonly fault?: (call: string, stop: () => unknown) => Fault | undefined;
}

export interface SetupResult {
  readonly code: number | null;
  readonly text: string;
  readonly error: string;
  /** The requests that changed something. */
  readonly changes: readonly string[];
  /** The first words of the steps. */
  readonly outcomes: readonly string[];
}

export interface Account {
  readonly cloudflare: Cloudflare;
  readonly neon: NeonNew;
  /** A fork, with the app of orders-app.ts. */
  readonly checkout: Checkout;
  /** Creates an empty database, and returns its owner's URL. */
  newDatabase(name: string): Promise<string>;
  /** Runs a command of the fork against the stand-ins. */
  run(args: readonly string[], env?: Record<string, string>): RunningCommand;
  /** Runs setup, answers its questions, and looks for secrets that it has left on the disk. */
  setup(args: readonly string[], options?: SetupOptions): Promise<SetupResult>;
  /** The same for another command, by default in the same fork. */
  command(args: readonly string[], options?: SetupOptions, folder?: string): Promise<SetupResult>;
  sql<Row extends object>(databaseUrl: string, query: string): Promise<Row[]>;
}

/** An account at Cloudflare and one at Neon, for the tests of one file. */
export function useAccount(): Account {
  let database: LocalDatabase;
  let cloudflare: Cloudflare;
  let checkout: Checkout;
  const neon = new NeonNew(() => newDatabase(`claimable_${neon.created.length}`));
  const sql = async <Row extends object>(databaseUrl: string, query: string) => {
    const client = new pg.Client({ connectionString: databaseUrl.replace(NEON_HOST, LOOPBACK) });
    await client.connect();
    return client.query<Row>(query).then(
      ({ rows }) => client.end().then(() => rows),
      (error) => client.end().then(() => Promise.reject(error)),
    );
  };
  const run = (args: readonly string[], env?: Record<string, string>) =>
    checkout.run(args, { ...cloudflare.env, ...env });
  beforeAll(async () => {
    learnVariables({ ORDERS_WEBHOOK_SECRET: SECRET });
    database = await startDatabase();
    cloudflare = await Cloudflare.start(database.neon.port);
    cloudflare.others.set('neon.new', (request) => neon.answer(request));
    checkout = await makeCheckout();
  });
  afterAll(async () => {
    await cloudflare?.close();
    await database?.stop();
    await checkout?.remove();
    expect(cloudflare.unknown, 'what the stand-in of Cloudflare could not answer').toEqual([]);
  });
  return {
    get cloudflare() {
      return cloudflare;
    },
    get checkout() {
      return checkout;
    },
    neon,
    newDatabase,
    run,
    setup: (args, options) => command(['setup', ...args], options),
    command,
    sql,
  };
  async function newDatabase(name: string): Promise<string> {
    await sql(database.databaseUrl, `create database ${name}`);
    const url = new URL(`/${name}`, database.databaseUrl);
    url.hostname = NEON_HOST;
    learnPassword(url.href);
    return url.href;
  }
  async function command(
    args: readonly string[],
    { env = {}, answers = [], fault }: SetupOptions = {},
    path = checkout.path,
  ): Promise<SetupResult> {
    // Nobody is logged in at this home.
    const folder = join(path, 'tmp');
    mkdirSync(folder, { recursive: true });
    const { child, result } = runIn(path, args, { ...cloudflare.env, TMPDIR: folder, HOME: folder, ...env });
    child.stdin?.end(answers.map((answer) => `${answer}\n`).join(''));
    const changes: string[] = [];
    cloudflare.fault = (call) => {
      if (!call.startsWith('GET ')) changes.push(call);
      // One Ctrl-C for a step of several requests.
      return fault?.(call, () => child.killed || child.kill('SIGINT'));
    };
    const { code, text, error } = await result;
    // A wrangler that was stopped may still have sent a request.
    await vi.waitFor(() => expect(processesOf(path)).toEqual([]), WAIT);
    cloudflare.fault = undefined;
    for (const { parentPath, name } of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!/\.(json|log|env)$/.test(name)) continue;
      expect(readFileSync(join(parentPath, name), 'utf8')).not.toMatch(/the-secret-of-the-sender|postgres:\/\//);
    }
    const outcomes = text.match(/^(ok|done|would|needs)\b/gm) ?? [];
    return { code, text, error: error.trim(), changes, outcomes };
  }
}
