// Several handlers of one event: worked as one.
import { sql as statement } from 'drizzle-orm';
import * as v from 'valibot';
import { beforeEach, expect, it } from 'vitest';
import { claim } from '../../src/db/claim.ts';
import { defineHandler, Effect, type HandlerList, must, PermanentError } from '../../src/kit/index.ts';
import type { LogLine } from '../../src/shared/log.ts';
import { useDatabase } from '../database.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import { consumeInNode, FakeMessage } from './in-node.ts';

const database = useDatabase();
const { sql } = database;

beforeEach(async () => {
  await sql('delete from webhooks.events; drop table if exists notes; create table notes (note text primary key)');
  await sql(`grant select, insert, update on notes to "${database.role('consumer')}"`);
});

interface Row {
  readonly status: string;
  readonly attempts: number;
  readonly last_error: string | null;
  readonly summary: string | null;
}

async function work(list: HandlerList, data: unknown = {}, handlerMs = 30_000) {
  await claim(
    database.receiver,
    claimRequest([newEvent('a', { body: JSON.stringify(data) })], { receivedAt: new Date() }),
  );
  const lines: LogLine[] = [];
  await consumeInNode([new FakeMessage('a')], list, database.stack.workerUrls.consumer, { lines, handlerMs });
  const [row] = await sql<Row>('select status, attempts, last_error, summary from webhooks.events');
  const notes = await sql<{ note: string }>('select note from notes order by 1');
  return { row, notes: notes.map(({ note }) => note), lines };
}

const notes = (note: string) =>
  defineHandler({
    handle: (_event, { db }) => [db.execute(statement`insert into notes values (${note}) returning 1`)],
  });
const mails = defineHandler({ handle: ({ id }) => [new Effect('mail', { about: id }, 'mail')] });
const fails = (error: unknown) =>
  defineHandler({
    handle() {
      throw error;
    },
  });

it('the changes of all handlers are committed together, and effects of one kind are kept apart by their names', async () => {
  const { row, notes: written } = await work({ book: notes('booked'), customer: mails, seller: mails });
  expect([row?.status, row?.summary, written]).toEqual(['done', '1 change, customer.mail, seller.mail', ['booked']]);
  expect(await sql('select name, kind from webhooks.effects order by 1')).toEqual([
    { name: 'customer.mail', kind: 'mail' },
    { name: 'seller.mail', kind: 'mail' },
  ]);
});

it('if one handler fails, nothing of the others is committed, and the error says which one it was', async () => {
  const {
    row,
    notes: written,
    lines,
  } = await work({ book: notes('booked'), notify: fails(new TypeError('no')), mails });
  expect(row).toMatchObject({ status: 'pending', attempts: 1, last_error: 'notify: TypeError: no' });
  expect(written).toEqual([]);
  expect(lines).toMatchObject([{ outcome: 'retry', reason: 'notify: TypeError' }]);
});

it('each handler has its own schema, and gets a payload of its own', async () => {
  const changesIt = defineHandler({
    handle({ data }) {
      Reflect.set(data as object, 'id', 'changed');
      return [];
    },
  });
  const Id = v.pipe(
    v.object({ id: v.string() }),
    v.transform(({ id }) => id),
  );
  const writes = defineHandler({
    schema: Id,
    handle: ({ data }, { db }) => [db.execute(statement`insert into notes values (${data})`)],
  });
  expect(await work({ changesIt, writes }, { id: 'as it came' })).toMatchObject({ notes: ['as it came'] });
  await sql('delete from webhooks.events');
  const { row } = await work({ changesIt, writes }, { id: 5 });
  expect(row).toMatchObject({
    status: 'parked',
    last_error: "writes: PermanentError: the payload does not match the handler's schema at id",
  });
});

it('a condition that is not met names its handler, whichever of the list it is', async () => {
  const conditions = (id: string, found: boolean) =>
    defineHandler({
      handle: (_event, { db }) => [
        must(
          db.execute(statement`insert into notes select ${id} where ${found} returning 1`),
          new PermanentError(`no ${id}`),
        ),
      ],
    });
  const { row, notes: written } = await work({ one: conditions('x', true), other: conditions('y', false) });
  expect(row).toMatchObject({ status: 'parked', last_error: 'other: PermanentError: no y' });
  expect(written).toEqual([]);
});

it('if Postgres refuses the changes, the error names all handlers, and the constraint that any of them names parks it', async () => {
  const parking = { ...notes('same'), parkOn: ['notes_pkey'] };
  const { row } = await work({ book: notes('same'), parking });
  expect(row).toMatchObject({ status: 'parked', last_error: expect.stringMatching(/^book or parking: .*notes_pkey/) });
});

it('the handler that takes too long is named', async () => {
  const hangs = defineHandler({ handle: () => new Promise<never>(() => {}) });
  const { row } = await work({ book: notes('booked'), hangs }, {}, 50);
  expect(row).toMatchObject({ status: 'pending', last_error: 'hangs: Error: the handler took longer than 0.05 s' });
});

it.each<[what: string, list: unknown, error: string]>([
  [
    'with a hole',
    { book: notes('booked'), notify: undefined },
    'notify: PermanentError: there is undefined instead of a handler',
  ],
  ['that is empty', {}, 'PermanentError: the handler of test/test is empty'],
])('the event of a list %s is parked, and not lost', async (_what, list, error) => {
  const { row, notes: written } = await work(list as HandlerList);
  expect([row?.status, row?.last_error, written]).toEqual(['parked', `${error}: look at src/handlers/index.ts`, []]);
});

it('all handlers of a list together may return 1,000 changes', async () => {
  const many = defineHandler({ handle: () => Array.from({ length: 600 }, (_, n) => new Effect('mail', {}, `${n}`)) });
  const { row } = await work({ one: many, other: many });
  expect(row).toMatchObject({ status: 'parked', last_error: expect.stringMatching(/^other: .*1000 is the limit/) });
});
