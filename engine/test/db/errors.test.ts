import { createServer, type RequestListener } from 'node:http';
import { NeonDbError } from '@neondatabase/serverless';
import { sql } from 'drizzle-orm';
import { describe, expect, it } from 'vitest';
import { listen } from '../../cli/lib/port.ts';
import { startNeon } from '../../cli/local/neon/endpoint.ts';
import { type Database, openDatabase, run } from '../../src/db/client.ts';
import { DatabaseError } from '../../src/db/errors.ts';
import { useDatabase } from '../database.ts';

const database = useDatabase();

const CANARY = 'canary-51c0';

async function errorOf(promise: Promise<unknown>): Promise<DatabaseError> {
  const error = await promise.then(
    () => new Error('nothing was thrown'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DatabaseError);
  const known = error as DatabaseError;
  expect(`${known.message} ${known.stack} ${JSON.stringify(known)}`).not.toContain(CANARY);
  return known;
}

const ask = (db: Database) => run(db, sql`select ${CANARY}::text`);
const withUrl = (change: (url: URL) => void) => {
  const url = new URL(database.stack.databaseUrl);
  change(url);
  return openDatabase(url.href);
};

/** Asks a server in place of Neon. Without a limit, it is asked as a Worker asks Neon. */
async function askServer(answer: RequestListener, limit?: AbortSignal): Promise<unknown> {
  const server = createServer(answer);
  const url = new URL(database.stack.databaseUrl);
  url.port = String(await listen(server, 0));
  return ask(openDatabase(url.href, limit)).finally(() => {
    server.closeAllConnections();
    server.close();
  });
}
const answeredWith = (status: number, text: string) =>
  askServer((_request, response) => void response.writeHead(status).end(text));

describe('retryable errors', () => {
  it('a deadlock is retryable, and the error has nothing of what Postgres said but its SQLSTATE', async () => {
    await database.sql(`
      create or replace function raise_error(code text) returns void language plpgsql as
      $$ begin raise exception using errcode = code, message = '${CANARY}'; end $$`);
    const raised = run(database.db, sql`select ${CANARY}::text, raise_error('40P01')`);
    expect(await errorOf(raised)).toMatchObject({ retryable: true, code: '40P01' });
  });

  it.each<[what: string, answer: RequestListener]>([
    ['does not come', () => {}],
    ['stalls after its headers', (_request, response) => void response.writeHead(200).write('{')],
  ])('an answer that %s in time is retryable', async (_what, answer) => {
    expect(await errorOf(askServer(answer, AbortSignal.timeout(100)))).toMatchObject({
      retryable: true,
      message: 'Postgres did not answer in time',
    });
  });

  it.each([
    [200, '{}'],
    [200, '[]'],
    [200, 'null'],
    [400, 'null'],
  ])('an answer %i %s, which Neon never gives, is retryable', async (status, text) => {
    expect(await errorOf(answeredWith(status, text))).toMatchObject({
      retryable: true,
      message: 'something else answered in place of Neon',
    });
  });

  it('an answer that breaks off is retryable', async () => {
    const breaksOff: RequestListener = (_request, response) => {
      response.writeHead(200).write('{');
      setTimeout(() => response.destroy(), 20);
    };
    expect(await errorOf(askServer(breaksOff))).toMatchObject({
      retryable: true,
      message: 'Postgres could not be reached',
    });
  });

  it('a refused connection is retryable', async () => {
    // Nobody listens there. A port that was just given up may be somebody else's now.
    expect(await errorOf(ask(withUrl((url) => (url.port = '2'))))).toMatchObject({
      retryable: true,
      message: 'Postgres could not be reached: is the local database running? npm run db starts it',
    });
  });
});

describe('errors that are not retryable', () => {
  it('a violated constraint is not retryable, and the error names it', async () => {
    await database.sql(
      `insert into webhooks.events (source, event_id, received_at, due_at) values ('s', 'e', now(), now())`,
    );
    const again = run(
      database.db,
      sql`insert into webhooks.events (source, event_id, received_at, due_at) values ('s', 'e', now(), now())`,
    );
    expect(await errorOf(again)).toMatchObject({ retryable: false, constraint: 'events_source_event_id_pk' });
  });

  it('a refusal without a code is not retryable, and names what may be wrong', async () => {
    const error = await errorOf(answeredWith(400, JSON.stringify({ message: 'no such endpoint', code: null })));
    expect(error).toMatchObject({ retryable: false, message: expect.stringContaining('DATABASE_URL is not accepted') });
  });

  it('an unknown role is not retryable', async () => {
    const error = await errorOf(ask(withUrl((url) => (url.username = CANARY))));
    expect(error).toMatchObject({ retryable: false, message: expect.stringContaining('the role or password') });
  });

  it.each([
    ['COPY', () => sql`copy webhooks.events from stdin`, 'Neon does not support COPY'],
    [
      'more parameters than Neon takes',
      () =>
        sql`select ${sql.join(
          Array.from({ length: 32_768 }, (_, n) => sql`${n}::int`),
          sql`, `,
        )}`,
      'a statement has more than 32,767 parameters, which is the limit of Neon',
    ],
  ])(
    'a statement with %s is not retryable, and the error does not blame DATABASE_URL',
    async (_what, make, message) => {
      expect(await errorOf(run(database.db, make()))).toMatchObject({ retryable: false, message });
    },
  );

  it('a request or an answer that is too large is not retryable, because of its data', async () => {
    const small = await startNeon({ postgresPort: database.stack.postgres.port, maxBytes: 2000 });
    try {
      const db = withUrl((url) => (url.port = String(small.port)));
      const request = await errorOf(run(db, sql`select ${'x'.repeat(3000)}::text`));
      const answer = await errorOf(run(db, sql`select repeat('x', 3000)`));
      for (const error of [request, answer]) expect(error).toMatchObject({ retryable: false, isAboutData: true });
    } finally {
      await small.close();
    }
  });

  it('a mistake in our own code is not taken for an error of the database', async () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const error = await run(database.db, sql`select ${circular}::jsonb`).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect(DatabaseError.isFromDatabase(error)).toBe(false);
  });

  it.each([
    undefined,
    '',
    'not a url',
    `https://${CANARY}@example.com/`,
    `postgres://${CANARY}`,
    `postgres://role:${CANARY}@host`,
  ])('the DATABASE_URL %j is refused, and the error does not contain it', async (url) => {
    expect(await errorOf((async () => openDatabase(url))())).toMatchObject({ retryable: false });
  });
});

/** What the driver throws, without a Postgres that would have to be made to say it. */
it.each<[message: string, code: string, expected: object]>([
  ['connection closed', '', { retryable: true, message: 'the connection to Postgres was lost' }],
  ['error communicating with the server: broken pipe', '', { retryable: true }],
  [
    'could not parse the HTTP request body',
    '',
    { retryable: false, isAboutData: true, message: expect.stringContaining('half a character') },
  ],
  [
    `password authentication failed for user '${CANARY}'`,
    '',
    { message: expect.stringContaining('the role or password') },
  ],
  [
    'Server error (HTTP status 413): {}',
    '',
    { retryable: false, isAboutData: true, message: expect.stringContaining('of the request') },
  ],
  [
    'Server error (HTTP status 507): {}',
    '',
    { retryable: false, isAboutData: true, message: expect.stringContaining('of the answer') },
  ],
  [
    'Server error (HTTP status 500): {"message":"exceeded the Quota"}',
    '',
    { retryable: false, message: 'the Neon plan is used up' },
  ],
  ['Server error (HTTP status 503): {}', '', { retryable: true, message: 'Neon answered 503' }],
  ['', '42P01', { retryable: false, isAboutData: false, message: expect.stringContaining('npm run db:migrate') }],
  ['', '42703', { retryable: false, message: expect.stringContaining('npm run db:migrate') }],
  ['', '42501', { retryable: false, message: expect.stringContaining('npm run db:roles') }],
  ['', '22P02', { retryable: false, isAboutData: true }],
  ['', '23505', { retryable: false, isAboutData: true }],
  ['', '54000', { retryable: false, isAboutData: true }],
  ...['08003', '08006', '08P01', '25006', '40001', '57014', '57P01', '57P03', '58030', 'XX000'].map(
    (code): [string, string, object] => ['', code, { retryable: true, code, isOutOfSpace: false }],
  ),
  ['', '53100', { retryable: true, isOutOfSpace: true }],
  ['', '53300', { retryable: true, isOutOfSpace: false, isAboutData: false }],
  ['', '0A000', { retryable: false }],
  // As Postgres quotes a text with the lc_messages of other languages.
  ...[
    'for type integer: "%s"',
    'für Typ integer: »%s«',
    'pour le type integer : « %s »',
    '整数型の不正な入力構文: "%s"',
  ].map((message): [string, string, object] => [
    message.replace('%s', 'claimcheck: unmet condition 12, rows: 0'),
    '22P02',
    { unmetCondition: 12 },
  ]),
  ['for type integer: "claimcheck: unmet condition 12, rows: 07"', '22P02', { unmetCondition: undefined }],
])('%s %s is %o', (message, code, expected) => {
  const error = DatabaseError.fromDriver(Object.assign(new NeonDbError(message), { code }));
  expect(error).toMatchObject(expected);
  expect(String(error)).not.toContain(CANARY);
});
