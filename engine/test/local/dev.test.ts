import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { appendFile, chmod, readFile, rm, stat } from 'node:fs/promises';
import { createServer, get } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connect } from '../../cli/database/connect.ts';
import { freePort, isListening, listen } from '../../cli/lib/port.ts';
import { keptDir } from '../../cli/local/postgres-files.ts';
import { searchCommand } from '../canaries/commands.ts';
import { type Checkout, makeCheckout, processesOf, type RunningCommand } from '../checkout.ts';
import { endLater } from '../children.ts';
import { WAIT } from '../database.ts';
import { APP, consumerConfig, effectsCalling, HANDLER, SOURCES } from '../orders-app.ts';

/** Plays the real outside: nothing local may ever call it. */
const calls: string[] = [];
const canary = createServer((request, response) => {
  calls.push(request.url ?? '');
  response.end('{}');
});

let checkout: Checkout;
let dev: RunningCommand;
let port = 0;
let real = '';
let dataDir = '';

beforeAll(async () => {
  real = `http://127.0.0.1:${await listen(canary, 0)}`;
  checkout = await makeCheckout({
    ...APP,
    'wrangler.consumer.toml': consumerConfig({ THANKS_URL: real, OTHER_URL: real }, ['MAIL_KEY', 'CHAT_WEBHOOK_URL']),
  });
  port = await freePort();
  dev = checkout.run(['dev'], { PORT: String(port) });
  await vi.waitFor(() => expect(dev.output()).toContain('\nready '), WAIT);
  dataDir = keptDir(join(checkout.path, '.data/postgres'));
});

afterAll(async () => {
  dev?.child.kill('SIGINT');
  await dev?.result;
  canary.close();
  await checkout?.remove();
  if (dataDir) await rm(dataDir, { recursive: true, force: true });
});

const TABLES = `
import { pgTable, text } from 'drizzle-orm/pg-core';
export const notes = pgTable('dev_test_notes', { id: text('id').primaryKey() });
`;

const HANDLER_WITH_TABLE = HANDLER.replace(
  '=> [effect',
  '}, { db }) => [db.insert(notes).values({ id: data.record }), effect',
)
  .replace('handle: ({ data })', 'handle: ({ data')
  .replace('import { sources }', "import { notes } from '../tables.ts';\nimport { sources }");

/** Fails in its 13th line. */
const FAILING = HANDLER.replace('=> [effect', '=> fails() && [effect').concat(
  "function fails(): never {\n  console.log('mine\\nand more');\n  throw new TypeError('no such customer');\n}\n",
);

/** What dev has printed while and after something was done. */
function since(): () => string {
  const start = dev.output().length;
  return () => dev.output().slice(start);
}

/** A delivery whose id is in every line about its event. */
async function send(id: string, body: object = { record: 'r' }, env: Record<string, string> = {}): Promise<string> {
  const text = JSON.stringify({ id, type: 'order.paid', created_at: new Date().toISOString(), ...body });
  return (await checkout.call(['send', 'orders', '--body', text], env)).text;
}

async function databaseUrl(file = '.dev.vars'): Promise<string> {
  return /DATABASE_URL"?[:=] ?"(.*?)"/.exec(await readFile(join(checkout.path, file), 'utf8'))?.[1] ?? '';
}

/** What db:generate writes: the statement first, then the journal that names it. */
async function addMigration(statement: string): Promise<void> {
  const file = 'drizzle/meta/_journal.json';
  const journal = JSON.parse(await readFile(join(checkout.path, file), 'utf8'));
  journal.entries.push({ idx: 999, version: '7', when: Date.now(), tag: '0999_notes', breakpoints: true });
  await checkout.write('drizzle/0999_notes.sql', statement);
  await checkout.write(file, JSON.stringify(journal));
}

async function changed(file: string, text: string): Promise<void> {
  const printed = since();
  await checkout.write(file, text);
  await expect.poll(printed, WAIT).toContain('reloaded');
}

describe('npm run dev', () => {
  it('prints a few lines until one with the URLs says that it is ready', () => {
    const lines = dev.output().trim().split('\n');
    expect(lines.length).toBeLessThanOrEqual(5);
    expect(lines).toContain('.dev.vars: added DATABASE_URL, ORDERS_WEBHOOK_SECRET, MAIL_KEY');
    expect(lines.at(-1)).toBe(
      `ready        http://localhost:${port}/webhooks/<source>, console http://localhost:${port}/ops; in another terminal: npm run send -- orders`,
    );
  });

  it('writes secrets that nobody else may read, for you and for each Worker: a role of its own, and what it needs', async () => {
    const copies = ['receiver', 'consumer', 'ops'].map((worker) => `.data/dev/${worker}/wrangler.json`);
    const found = ['.dev.vars', ...copies].map(async (file) => [
      (await stat(join(checkout.path, file))).mode & 0o777,
      new URL(await databaseUrl(file)).username,
      /ORDERS_WEBHOOK_SECRET"?[:=] ?"\w{64}"/.test(await readFile(join(checkout.path, file), 'utf8')),
    ]);
    expect(await Promise.all(found)).toEqual([
      [0o600, 'claimcheck', true],
      [0o600, 'claimcheck_receiver', true],
      [0o600, 'claimcheck_consumer', false],
      [0o600, 'claimcheck_ops', false],
    ]);
  });

  it('prints one line for each step of an event, and the stand-in takes the effect’s place', async () => {
    const printed = since();
    expect(await send('evt_elsewhere', {}, { PORT: '1' })).toContain('no receiver answers at http://localhost:1:');
    expect(await send('evt_first')).toContain('200 {"status":"accepted"}');
    await expect.poll(printed, WAIT).toMatch(/^effect .*evt_first/m);
    expect(
      printed()
        .replaceAll(/\d+ ms/g, 'N ms')
        .replace(/key \w+…/, 'key K')
        .split('\n')
        .filter(Boolean),
    ).toEqual([
      'delivery       orders  order.paid  evt_first  accepted  N ms',
      'completion     orders  order.paid  evt_first  done  N ms',
      'outside        POST /thanks  idempotency key K',
      'effect         orders  order.paid  evt_first  thanks  sent  N ms',
    ]);
    expect(calls).toEqual([]);
  });

  it('shows the console on the same port, open to whoever is on this machine, and gives everything else to the receiver', async () => {
    const page = await fetch(`http://localhost:${port}/ops/events`, { headers: { accept: 'text/html' } });
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('evt_first')]);
    const answers = ['/', '/opsx', '/webhooks/nobody', '/health'].map((path) =>
      fetch(`http://localhost:${port}${path}`),
    );
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  });

  it('answers no page of another site whose name resolves to this machine, whatever headers it sends, and nobody on wrangler’s own port', async () => {
    const ask = (host: string, headers: Record<string, string> = {}, to = port, path = '/ops/api/status') =>
      new Promise<number | undefined>((resolve, reject) => {
        const options = { host: '127.0.0.1', port: to, path, headers: { host, ...headers } };
        get(options, (answer) => resolve(answer.resume().statusCode)).on('error', reject);
      });
    const original = { 'MF-Original-URL': `http://localhost:${port}/ops/api/status` };
    for (const host of [`localhost:${port}`, '127.0.0.1', '[::1]:80', 'localhost'])
      expect([host, await ask(host)]).toEqual([host, 200]);
    for (const host of [`evil.example:${port}`, 'localhost.evil.example', 'localhost@evil.example']) {
      expect([host, await ask(host, original)]).toEqual([host, 403]);
      expect([host, await ask(host)]).toEqual([host, 403]);
    }
    const absolute = `http://localhost:${port}/ops/api/status`;
    expect(await ask(`localhost:${port}`, {}, port, absolute)).toBe(403);
    // The header is not passed on: the path of the request counts.
    expect(await ask(`localhost:${port}`, original, port, '/webhooks/nobody')).toBe(404);
    const inner = Number(/ --port (\d+)/.exec(processesOf(checkout.path).join('\n'))?.[1]);
    expect(await ask(`localhost:${inner}`, original, inner)).toBe(403);
  });

  it('ticks the consumer’s cron, which sends lost tickets again', async () => {
    const printed = since();
    const client = await connect(await databaseUrl());
    await client.query(
      `update webhooks.events set status = 'pending', completions = 0, due_at = now() where event_id = 'evt_first'`,
    );
    await client.end();
    await fetch(`http://localhost:${port}/cdn-cgi/local/scheduled`);
    await expect.poll(printed, WAIT).toMatch(/^completion .*evt_first {2}done/m);
    await expect.poll(printed, WAIT).toMatch(/^sweep +done {2}events 1/m);
  });

  it('takes a change of the code, and calls no URL that is in the variables or written into the code', async () => {
    const urls = {
      other: `env.OTHER_URL + '/other'`,
      // A secret that is a URL leads to the stand-in as well.
      key: `env.CHAT_WEBHOOK_URL + '/' + env.MAIL_KEY?.length`,
      hard: `'https://api.example.com/v1'`,
    };
    const chosen = Object.entries(urls).map(([record, url]) => `payload.record === '${record}' ? ${url} : `);
    await changed('src/effects/index.ts', effectsCalling(`${chosen.join('')}env.THANKS_URL + '/thanks'`));
    const printed = since();
    for (const record of Object.keys(urls)) await send(`evt_${record}`, { record });
    await expect.poll(printed, WAIT).toMatch(/^effect .*evt_hard.*a local run must not call api\.example\.com/m);
    for (const path of ['/other', '/64']) await expect.poll(printed, WAIT).toContain(`POST ${path}`);
    expect(calls).toEqual([]);
  });

  it('shows what a handler prints, where it failed and why, and runs the event and the effect at once that a correction lets pass', async () => {
    await changed('src/handlers/index.ts', FAILING);
    const printed = since();
    await send('evt_broken');
    await expect
      .poll(printed, WAIT)
      .toMatch(/^completion .*evt_broken {2}retry \(attempt 1\) .*TypeError: no such customer$/m);
    await expect.poll(printed, WAIT).toContain('at fails (src/handlers/index.ts:13:9)');
    await expect.poll(printed, WAIT).toMatch(/^mine\nand more$/m);
    await checkout.write('src/handlers/index.ts', HANDLER);
    await checkout.write('src/effects/index.ts', effectsCalling(`env.THANKS_URL + '/thanks'`));
    await expect.poll(printed, WAIT).toMatch(/^completion .*evt_broken {2}done/m);
    await expect.poll(printed, WAIT).toMatch(/^effect .*evt_hard.* sent/m);
    await expect.poll(printed, WAIT).toMatch(/^reloaded, and pending events and effects are retried now: \d$/m);
  });

  it('shows the path of a schema that failed, what was expected there, and how to try the parked event again', async () => {
    const printed = since();
    await send('evt_schema', { record: 7 });
    await expect.poll(printed, WAIT).toMatch(/^completion .*evt_schema {2}parked .*does not match .* at record$/m);
    await expect.poll(printed, WAIT).toContain('npm run ops -- retry orders evt_schema');
    await expect.poll(printed, WAIT).toMatch(/^schema {9}record: Invalid type: Expected string but received 7$/m);
    // Other events may have failed meanwhile. What is printed about one failure is printed at once.
    const [failure] = /evt_schema {2}parked[\s\S]*?retry orders evt_schema/.exec(printed()) ?? [];
    expect(failure).not.toMatch(/^ +at (?!.*src\/)/m);
    const list = await checkout.call(['ops', 'list', '--status', 'parked']);
    expect(list.text).toMatch(
      /orders +evt_schema +order\.paid +parked +attempts 1 +schema +index\.ts:\d+ +PermanentError/,
    );
    expect((await checkout.call(['ops', 'retry', 'orders', 'evt_schema'])).code).toBe(0);
  });

  it('names a table without a migration, and applies the migration once it is generated', async () => {
    await checkout.write('src/tables.ts', TABLES);
    await changed('src/handlers/index.ts', HANDLER_WITH_TABLE);
    const printed = since();
    await send('evt_table');
    await expect.poll(printed, WAIT).toMatch(/^completion .*evt_table {2}retry .*SQLSTATE 42P01/m);
    await expect.poll(printed, WAIT).toContain('npm run db:generate comes first');
    await expect.poll(printed, WAIT).toContain('Postgres: relation "dev_test_notes" does not exist');
    await addMigration('create table dev_test_notes (id text primary key);');
    await expect.poll(printed, WAIT).toContain('the migrations are applied, and pending events');
    await expect.poll(printed, WAIT).toMatch(/^completion .*evt_table {2}done/m);
  });

  it('does not try what asked to wait again when a file is saved, and counts no attempt of its own', async () => {
    const waits = `
      if (data.record === 'later') throw new RetryLater(3600);
      if (data.record === 'unmet') return [must(db.select().from(notes).where(eq(notes.id, 'nobody')).for('update'), 'nobody')];
      throw new TypeError('a mistake');`;
    const handler = HANDLER_WITH_TABLE.replace(/handle: [^\n]*/, `handle: ({ data }, { db }) => {${waits} },`)
      .replace('import { defineHandler, defineHandlers }', 'import { defineHandler, defineHandlers, must, RetryLater }')
      .concat("import { eq } from 'drizzle-orm';");
    await changed('src/handlers/index.ts', handler);
    const printed = since();
    for (const id of ['later', 'unmet', 'mistake']) await send(`evt_${id}`, { record: id });
    const client = await connect(await databaseUrl());
    const attempts = async () => {
      const { rows } = await client.query(
        "select event_id, attempts from webhooks.events where event_id in ('evt_later', 'evt_unmet', 'evt_mistake') order by 1",
      );
      return rows.map(({ event_id, attempts }) => `${event_id} ${attempts}`);
    };
    for (const id of ['later', 'unmet', 'mistake'])
      await expect.poll(printed, WAIT).toMatch(new RegExp(`^completion .*evt_${id} {2}retry`, 'm'));
    await expect
      .poll(
        async () => (await client.query("select position from webhooks.events where event_id = 'evt_unmet'")).rows,
        WAIT,
      )
      .toEqual([{ position: expect.stringMatching(/^must \(/) }]);
    // Their own wait would end it.
    await client.query(
      "update webhooks.events set not_before = now() + interval '1 hour', due_at = now() + interval '1 hour' where status = 'pending'",
    );
    const saved = since();
    await changed('src/handlers/index.ts', `${handler}\n`);
    await expect.poll(saved, WAIT).toMatch(/^completion .*evt_mistake {2}retry \(attempt 1\)/m);
    expect(saved()).not.toMatch(/evt_(later|unmet)/);
    expect(await attempts()).toEqual(['evt_later 1', 'evt_mistake 1', 'evt_unmet 1']);
    await client.query("update webhooks.events set status = 'done' where status = 'pending'");
    await client.end();
    await changed('src/handlers/index.ts', HANDLER_WITH_TABLE);
  });

  it('shows a compile error, and starts the Workers again once a file that throws while it is loaded has been corrected', async () => {
    const printed = since();
    await checkout.write('src/handlers/index.ts', `${HANDLER}const x = ;`);
    await expect
      .poll(printed, WAIT)
      .toMatch(/^the previous version stays in use:\n[\s\S]*Unexpected ";"[\s\S]*src\/handlers\/index\.ts:11/m);
    await checkout.write('src/handlers/index.ts', `throw new TypeError('half-typed');\n${HANDLER}`);
    await expect.poll(printed, WAIT).toContain('the Workers cannot start');
    await expect.poll(printed, WAIT).toMatch(/src\/handlers\/index\.ts:1\nthrow new TypeError\('half-typed'\)/);
    // Not what workerd says about a line of the bundle.
    expect(printed()).not.toMatch(/problem with the workerd binary|\w+\.js:\d|Logs were written/);
    expect(await send('meanwhile')).toContain('see what npm run dev prints');
    const stillBroken = since();
    await checkout.write('src/handlers/index.ts', `${HANDLER}const x = ;`);
    await expect.poll(stillBroken, WAIT).toContain('the Workers cannot start');
    await checkout.write('src/handlers/index.ts', `\n\n${FAILING}`);
    await expect.poll(printed, WAIT).toContain('started again');
    expect(await send('after_a_stop')).toContain('accepted');
    await expect.poll(printed, WAIT).toContain('at fails (src/handlers/index.ts:15:9)');
    await checkout.write('src/handlers/index.ts', HANDLER);
    await expect.poll(printed, WAIT).toMatch(/^completion .*after_a_stop .*done/m);
  });

  it('says that it must be restarted after a change of a wrangler file or of .dev.vars, and for a source without a secret', async () => {
    const printed = since();
    for (const file of ['wrangler.toml', '.dev.vars']) {
      const before = await readFile(join(checkout.path, file), 'utf8');
      await checkout.write(file, `${before}\n# a change`);
      await expect.poll(printed, WAIT).toContain(`${file} has changed: restart npm run dev\n`);
      await checkout.write(file, before);
    }
    await checkout.write(
      'src/sources.ts',
      SOURCES.replace('({', "({ shop: { provider: gethook, types: ['a'], tenants: true },"),
    );
    await expect
      .poll(printed, WAIT)
      .toContain('src/sources.ts needs SHOP_WEBHOOK_SECRET, TENANTS_KEY: restart npm run dev');
    await changed('src/sources.ts', SOURCES);
    expect(printed().match(/restart npm run dev/g)).toHaveLength(3);
  });

  it('takes a change of the samples: what the stand-in for the outside answers, and the rows', async () => {
    const printed = since();
    await checkout.write(
      'src/samples.ts',
      `const no = new Response('no', { status: 422 }); export const answers = () => no; export const seed = () => [1];`,
    );
    await expect.poll(printed, WAIT).toContain('seed in src/samples.ts failed: it returned something');
    for (const id of ['evt_refused', 'evt_refused_too']) {
      await send(id);
      await expect.poll(printed, WAIT).toMatch(new RegExp(`^effect .*${id} .*parked .*422$`, 'm'));
    }
  });

  it('is refused a second time in the same checkout, with the process that runs', async () => {
    const { code, text } = await checkout.run(['dev'], { PORT: String(await freePort()) }).result;
    expect([code, text]).toEqual([
      1,
      expect.stringContaining(`dev: it is already running in this checkout, on port ${port}: process ${dev.child.pid}`),
    ]);
  });

  it('leaves neither a process nor a taken port behind', async () => {
    const ports = Array.from(dev.output().matchAll(/(?:127\.0\.0\.1:|localhost:|port )(\d+)/g), ([, n]) => Number(n));
    expect(new Set(ports).size).toBeGreaterThanOrEqual(4);
    // Of its own, or it would find the queues of another checkout.
    expect(readdirSync(join(checkout.path, '.data/dev/registry'))).not.toEqual([]);
    dev.child.kill('SIGINT');
    expect((await dev.result).code).toBe(0);
    for (const taken of ports) expect([taken, await isListening(taken)]).toEqual([taken, false]);
    expect(processesOf(checkout.path, dataDir)).toEqual([]);
    expect(calls).toEqual([]);
  });
});

it('npm run dev -- --tunnel prints where the tunnel begins, closes the console, calls a URL that .dev.vars sets, and leaves nothing behind when npm is killed', async () => {
  // In place of Cloudflare's program, which needs the internet.
  const cloudflared = join(checkout.path, 'cloudflared');
  await checkout.write('cloudflared', '#!/bin/sh\necho "|  https://a-b.trycloudflare.com  |" >&2\nexec sleep 600\n');
  await chmod(cloudflared, 0o755);
  await appendFile(join(checkout.path, '.dev.vars'), `THANKS_URL="${real}/wanted"\n`);
  await checkout.write('src/samples.ts', 'export const samples = {};');
  const env = { ...process.env, PORT: String(port), CLOUDFLARED_PATH: cloudflared };
  const npm = spawn('npm', ['run', 'dev', '--', '--tunnel'], { cwd: checkout.path, env, detached: true });
  endLater(npm);
  let output = '';
  npm.stdout.on('data', (chunk) => (output += chunk));
  for (const line of ['ready ', 'tunnel       https://a-b.trycloudflare.com/webhooks/<source>\n']) {
    await expect.poll(() => output, WAIT).toContain(`\n${line}`);
  }
  expect((await fetch(`http://localhost:${port}/ops`)).status).toBe(403);
  expect(await send('through_a_tunnel')).toContain('accepted');
  await expect.poll(() => calls, WAIT).toEqual(['/wanted/thanks']);
  searchCommand(checkout.path, {}, ['dev'], output);
  npm.kill('SIGKILL');
  // It can't tell anybody.
  await expect.poll(() => processesOf(checkout.path, dataDir), WAIT).toEqual([]);
});

describe('nothing is left behind', () => {
  const interrupted = async (args: string[], signal: NodeJS.Signals, until: (output: () => string) => void) => {
    const { child, result, output } = checkout.run(['dev', ...args], { PORT: String(port) });
    try {
      await vi.waitFor(() => until(output), { ...WAIT, interval: 5 });
    } finally {
      child.kill(signal);
    }
    const { code, text } = await result;
    // Before it listens to signals it has not started anything, and the signal itself ends it.
    expect([0, null]).toContain(code);
    expect(text).not.toContain('Error');
    expect(processesOf(checkout.path, dataDir)).toEqual([]);
    expect(existsSync(`${dataDir}.password`)).toBe(false);
  };

  it('if the terminal is closed while the Workers start', () =>
    interrupted([], 'SIGHUP', (output) => expect(output()).toContain('\nthe outside ')));

  it('by an error that nothing catches', async () => {
    const samples = 'export const samples = {}; export const answers';
    await checkout.write(
      'src/samples.ts',
      `${samples} = () => void setTimeout(() => { throw new Error('uncaught'); });`,
    );
    const { result, output } = checkout.run(['dev'], { PORT: String(port) });
    await vi.waitFor(() => expect(output()).toContain('\nready '), WAIT);
    await fetch(/^the outside {2}(\S+),/m.exec(output())?.[1] ?? '');
    const { code, text } = await result;
    expect([code, text]).toEqual([1, expect.stringContaining('Error: uncaught')]);
    expect(processesOf(checkout.path, dataDir)).toEqual([]);
    await checkout.write('src/samples.ts', `${samples} = () => undefined;`);
  });

  it('by a Ctrl-C while PostgreSQL creates its data', () =>
    interrupted(['--fresh'], 'SIGINT', () => expect(existsSync(`${dataDir}.password`)).toBe(true)));
});
