import fc from 'fast-check';
import { beforeEach, expect, it } from 'vitest';
import { loadMatching, MAX_RERUN, runAction } from '../../src/db/actions.ts';
import { claim } from '../../src/db/claim.ts';
import { type LoadedEffect, loadEffects, recordEffectResults } from '../../src/db/effects.ts';
import type { EventFilter } from '../../src/db/filter.ts';
import type { ActionName } from '../../src/db/schema.ts';
import { listEvents } from '../../src/db/views.ts';
import { useDatabase } from '../database.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import { RUNS } from '../pure/generators.ts';
import { insertRows, seed } from '../seed.ts';
import { act, type ModelEvent } from './action-model.ts';

const database = useDatabase();
const { sql } = database;

const NOW = new Date('2026-03-01T12:00:00Z');
const LATER = new Date('2026-03-02T12:00:00Z');
const states = () => sql('select event_id, status, attempts, completions from webhooks.events order by 1');
const effects = () => sql('select event_id, status from webhooks.effects order by 1');
const actionsOf = async (eventId: string) =>
  (await sql<{ actions: unknown }>('select actions from webhooks.events where event_id = $1', [eventId]))[0]?.actions;

const by = { at: LATER, who: 'oncall@example.com', sendEffectsAgain: false };
const retry = (filter: EventFilter) => runAction(database.ops, { ...by, action: 'retry', filter });
const discard = (filter: EventFilter, reason: string) =>
  runAction(database.ops, { ...by, action: 'discard', filter, reason });
const rerun = (filter: EventFilter, sendEffectsAgain = false) =>
  runAction(database.ops, { ...by, action: 'rerun', filter, sendEffectsAgain });
const changed = (events: number, effects: number) => expect.objectContaining({ outcome: 'changed', events, effects });

/** Two parked events and two done ones, one of these with a sent effect, one with a parked one. */
beforeEach(async () => {
  await sql('delete from webhooks.events');
  const events = [
    newEvent('done_1', { type: 'paid' }),
    newEvent('done_2', { type: 'refunded' }),
    newEvent('parked_1', { type: 'paid' }),
    newEvent('parked_2', { type: 'refunded' }),
  ];
  await claim(database.receiver, claimRequest(events, { receivedAt: NOW }));
  await sql(`update webhooks.events set finished_at = $1, attempts = 12, status = split_part(event_id, '_', 1)`, [NOW]);
  await sql(`update webhooks.events set completions = 1, attempts = 1 where status = 'done'`);
  await sql(
    `insert into webhooks.effects (source, event_id, name, kind, payload, status, due_at)
     values ('test', 'done_1', 'receipt', 'receipt', '{}', 'sent', $1),
            ('test', 'done_2', 'receipt', 'receipt', '{}', 'parked', $1)`,
    [NOW],
  );
});

it('a retry returns the keys of due events and effects, for their tickets', async () => {
  expect(await retry({ source: 'test' })).toEqual({
    outcome: 'changed',
    lines: [],
    events: 2,
    effects: 1,
    eventKeys: expect.arrayContaining([
      { source: 'test', eventId: 'parked_1' },
      { source: 'test', eventId: 'parked_2' },
    ]),
    effectKeys: [{ source: 'test', eventId: 'done_2', name: 'receipt' }],
    received: [NOW, NOW],
  });
});

const part = (statuses: readonly string[]) =>
  fc.record({
    status: fc.constantFrom(...statuses),
    failure: fc.constantFrom('schema', 'handler', null),
    attempts: fc.constant(1),
    waits: fc.boolean(),
  });
/** Two sources have events with the same ids. */
const modelEvents = fc.uniqueArray(
  fc
    .tuple(
      part(['pending', 'done', 'ignored', 'parked']),
      fc.record({
        source: fc.constantFrom('a', 'b'),
        id: fc.constantFrom('1', '2'),
        type: fc.constantFrom('paid', 'sent'),
        hasBody: fc.boolean(),
        wasDiscarded: fc.boolean(),
        effects: fc.dictionary(fc.constantFrom('mail', 'sms'), part(['pending', 'sent', 'parked']), {
          noNullPrototype: true,
        }),
      }),
    )
    .map(([own, { wasDiscarded, ...more }]): ModelEvent => {
      const isCompleted = own.status === 'done' || (own.status === 'ignored' && !wasDiscarded);
      return { ...own, ...more, isCompleted, actions: [] };
    }),
  { minLength: 4, maxLength: 4, selector: ({ source, id }) => `${source} ${id}` },
);
/** Most filters have few fields, and find something. */
const FIELDS: readonly EventFilter[] = [
  { source: 'a' },
  { q: '1' },
  { type: 'paid' },
  { status: 'pending' },
  { status: 'ignored' },
  { status: 'parked' },
  { effect_status: 'pending' },
  { effect_status: 'parked' },
  { failure: 'schema' },
];
const operations = fc.record({
  action: fc.constantFrom<ActionName>('retry', 'discard', 'rerun'),
  filter: fc
    .array(fc.constantFrom(...FIELDS), { maxLength: 3 })
    .map((fields): EventFilter => Object.assign({}, ...fields)),
  again: fc.boolean(),
});

/** What the model says of them, as rows. */
async function writeEvents(all: readonly ModelEvent[]): Promise<void> {
  await sql('delete from webhooks.events');
  const key = ({ source, id }: ModelEvent) => ({ source, event_id: id });
  const rowOf = ({ status, failure, attempts, waits }: ModelEvent['effects'][string]) => ({
    status,
    failure,
    attempts,
    not_before: waits ? LATER : null,
    due_at: NOW,
  });
  const received_at = NOW;
  await insertRows(sql, {
    events: all.map((event) => ({
      ...key(event),
      ...rowOf(event),
      received_at,
      type: event.type,
      completions: Number(event.isCompleted),
    })),
    bodies: all
      .filter(({ hasBody }) => hasBody)
      .map((event) => ({ ...key(event), received_at, body: '{}', headers: {} })),
    effects: all.flatMap((event) =>
      Object.entries(event.effects).map(([name, effect]) => ({
        ...key(event),
        ...rowOf(effect),
        name,
        kind: name,
        payload: '',
      })),
    ),
  });
}

async function readEvents(): Promise<ModelEvent[]> {
  const columns = "'status', status, 'failure', failure, 'attempts', attempts, 'waits', not_before is not null";
  const rows = await sql<{ event: ModelEvent }>(`
    select jsonb_build_object('source', source, 'id', event_id, 'type', type, ${columns}, 'isCompleted', completions = 1,
      'hasBody', exists (select from webhooks.bodies b where (b.source, b.event_id) = (e.source, e.event_id)),
      'effects', (select coalesce(jsonb_object_agg(name, jsonb_build_object(${columns})), '{}')
        from webhooks.effects f where (f.source, f.event_id) = (e.source, e.event_id)),
      'actions', jsonb_path_query_array(coalesce(actions, '[]'), '$[*].action')) as event
    from webhooks.events e order by source, event_id`);
  return rows.map(({ event }) => event);
}

it('a sequence of actions changes the same as in the model, for any events and filters', async () => {
  await fc.assert(
    fc.asyncProperty(modelEvents, fc.array(operations, { minLength: 1, maxLength: 3 }), async (events, all) => {
      const model = structuredClone(events).sort((a, b) => (`${a.source}${a.id}` < `${b.source}${b.id}` ? -1 : 1));
      await writeEvents(model);
      for (const { action, filter, again } of all) {
        const { expected } = await loadMatching(database.ops, action, filter);
        const operation = { ...by, action, filter, expected, reason: 'no', sendEffectsAgain: again };
        const { events, effects } = act(model, action, filter, again);
        expect(await runAction(database.ops, operation)).toEqual(changed(events, effects));
        expect(await readEvents()).toEqual(model);
      }
    }),
    { ...RUNS, numRuns: 100 },
  );
});

it.each<[ActionName, effects: number, again: string]>([
  ['retry', 1, 'parked'],
  ['discard', 1, 'ignored'],
  ['rerun', 0, 'done'],
])(
  'a %s of many changes nothing if others match than were seen, though as many, and is not repeated',
  async (action, effects, again) => {
    const filter = { source: 'test' };
    const act = ({ expected }: { expected: string }) =>
      runAction(database.ops, { ...by, action, filter, expected, reason: 'no' });
    for (const change of [
      `update webhooks.events set completions = 1 - completions,
         status = case status when 'done' then 'parked' else 'done' end where event_id in ('done_1', 'parked_1')`,
      ...(effects === 0 ? [] : [`update webhooks.effects set name = 'other' where event_id = 'done_2'`]),
    ]) {
      const seen = await loadMatching(database.ops, action, filter);
      await sql(change);
      const before = await states();
      expect(await act(seen)).toEqual({ outcome: 'unexpected', matching: seen.matching });
      expect(await states()).toEqual(before);
    }

    const seenNow = await loadMatching(database.ops, action, filter);
    expect(await act(seenNow)).toEqual(changed(2, effects));
    await sql(`update webhooks.effects set status = 'parked' where status = 'pending'`);
    await sql(
      `update webhooks.events set status = $1, finished_at = $2, completions = ($1 = 'done')::int where status = 'pending'`,
      [again, LATER],
    );
    expect(await act(seenNow)).toMatchObject({ outcome: 'unexpected' });
  },
);

it('a retry or rerun starts from the beginning: it is due now, without a wait or attempts', async () => {
  const old = `attempts = 12, not_before = '2027-01-01', due_at = '2027-01-01', failure = 'handler', last_error = 'no'`;
  await sql(`update webhooks.events set ${old}, summary = '1 change', failed_paths = '["a"]'`);
  await sql(`update webhooks.effects set ${old}`);
  await retry({ source: 'test' });
  await rerun({ q: 'done_1' });
  const anew = { status: 'pending', attempts: 0, not_before: null, due_at: LATER };
  expect(
    await sql(`select status, attempts, not_before, due_at from webhooks.effects where event_id = 'done_2'`),
  ).toEqual([anew]);
  const columns =
    'status, attempts, not_before, due_at, finished_at, completions, failure, last_error, failed_paths, summary';
  expect(
    await sql(`select ${columns} from webhooks.events where event_id in ('done_1', 'parked_1') order by event_id`),
  ).toEqual([
    { ...anew, finished_at: null, completions: 0, failure: null, last_error: null, failed_paths: null, summary: null },
    // A retry leaves in sight why the event failed.
    {
      ...anew,
      finished_at: null,
      completions: 0,
      failure: 'handler',
      last_error: 'no',
      failed_paths: ['a'],
      summary: null,
    },
  ]);
});

it('every action is recorded on its event with who, when and why, oldest first', async () => {
  await retry({ q: 'done_2' });
  await retry({ q: 'parked_1' });
  await sql(`update webhooks.events set status = 'parked' where event_id = 'parked_1'`);
  await discard({ q: 'parked_1' }, 'sent by mistake');
  await rerun({ q: 'done_1' });
  const entry = { at: LATER.toISOString(), who: 'oncall@example.com', reason: null };
  // With what it overwrites: an effect's retry changes nothing of its event, and says so.
  const was = { status: 'parked', finished_at: '2026-03-01T12:00:00+00:00', attempts: 12, error: null };
  expect(await actionsOf('done_2')).toEqual([{ ...entry, action: 'retry', effects: ['receipt'] }]);
  expect(await actionsOf('parked_1')).toEqual([
    { ...entry, action: 'retry', was },
    { ...entry, action: 'discard', reason: 'sent by mistake', was: { ...was, finished_at: null, attempts: 0 } },
  ]);
  expect(await actionsOf('done_1')).toEqual([
    { ...entry, action: 'rerun', was: { ...was, status: 'done', attempts: 1 } },
  ]);
  expect(await actionsOf('parked_2')).toBe(null);
});

it('a discarded event becomes ignored and keeps its error, and if only effects are discarded, its summary says so', async () => {
  await sql(`update webhooks.effects set status = 'parked'`);
  await sql(`update webhooks.events set last_error = 'Error: no', summary = '1 change', completions = 0,
    status = case when event_id in ('done_1', 'parked_1') then 'parked' else 'done' end`);
  expect(await discard({ source: 'test' }, 'a test')).toEqual(changed(2, 2));
  expect(await effects()).toEqual([]);
  const last_error = 'Error: no';
  expect(await sql('select event_id, status, summary, last_error from webhooks.events order by 1')).toEqual([
    { event_id: 'done_1', status: 'ignored', summary: 'discarded: a test', last_error },
    { event_id: 'done_2', status: 'done', summary: '1 change, discarded receipt: a test', last_error },
    { event_id: 'parked_1', status: 'ignored', summary: 'discarded: a test', last_error },
    { event_id: 'parked_2', status: 'done', summary: '1 change', last_error },
  ]);
});

it('a sent effect stays sent, whatever the result of a second send is', async () => {
  const [loaded] = await loadEffects(database.consumer, [{ source: 'test', eventId: 'done_1', name: 'receipt' }]);
  const effect = { ...(loaded as LoadedEffect), failure: 'response', error: 'Error: no', notBefore: LATER } as const;
  await recordEffectResults(database.consumer, [{ ...effect, status: 'parked' }], NOW);
  await recordEffectResults(database.consumer, [{ ...effect, status: 'pending' }], NOW);
  expect(await effects()).toContainEqual({ event_id: 'done_1', status: 'sent' });
});

it('a repeated rerun changes nothing, because the event has run again since the operator saw it', async () => {
  const rerunOfSeen = () =>
    runAction(database.ops, { ...by, action: 'rerun', filter: { q: 'done_1' }, finishedAt: NOW });
  const finish = (at: string) =>
    sql(`update webhooks.events set status = 'done', completions = 1, finished_at = $1 where event_id = 'done_1'`, [
      at,
    ]);
  await finish('2026-03-01T12:00:00.000999Z');
  expect(await rerunOfSeen()).toEqual(changed(1, 0));
  await finish('2026-03-01T12:00:00.001Z');
  expect(await rerunOfSeen()).toEqual(changed(0, 0));
});

it('loadMatching says by source and failure what each action would change, and locks nothing', async () => {
  // A lock is written into its row: those of 400,000 events were 22 MB of WAL.
  const locks = () => sql('select xmax from webhooks.events union all select xmax from webhooks.effects');
  await sql(`update webhooks.events set failure = 'schema' where event_id = 'parked_1'`);
  await sql(`insert into webhooks.effects (source, event_id, name, kind, payload, status, due_at, failure)
    select 'test', 'done_' || n, 'mail', 'mail', '{}', 'parked', now(), 'handler' from generate_series(1, 2) n`);
  const before = await locks();
  const load = (action: ActionName, filter: EventFilter) => loadMatching(database.ops, action, filter);
  const { matching, groups } = await load('retry', {});
  expect(matching).toBe(4);
  // The most of it at the top, events and effects together.
  expect(groups.at(-1)).toEqual({
    source: 'test',
    failure: 'schema',
    events: 1,
    effects: 0,
    event_ids: ['parked_1'],
    others: 0,
  });
  expect(groups).toEqual(
    expect.arrayContaining([
      { source: 'test', failure: 'handler', events: 0, effects: 2, event_ids: ['done_1', 'done_2'], others: 0 },
      { source: 'test', failure: null, events: 1, effects: 1, event_ids: ['done_2', 'parked_2'], others: 0 },
    ]),
  );
  expect(await load('discard', { status: 'parked', failure: 'schema' })).toMatchObject({ matching: 1 });
  expect(await load('rerun', { type: 'paid' })).toMatchObject({ groups: [{ events: 1, event_ids: ['done_1'] }] });
  expect(await load('retry', { source: 'other' })).toEqual({ matching: 0, expected: '0-', groups: [] });
  expect(await locks()).toEqual(before);
});

it('a filter by error finds errors that differ only in ids, but not those with other numbers', async () => {
  const fail = (id: string, error: string) =>
    sql('update webhooks.events set last_error = $2 where event_id = $1', [id, error]);
  // Only its first 200 characters are compared.
  const errorOf = (order: string, customer: string) =>
    `Error: order ${order} of ${customer} is unknown in shop7, HTTP 404 ${'x'.repeat(100)} A ${'y'.repeat(100)} B`;
  await fail('parked_1', errorOf('6204481798402', 'cus_9aX77b'));
  await fail('parked_2', errorOf('6204481790001', 'cus_1bY88c'));
  const error = errorOf('1111111111111', 'cus_000000');
  for (const [wanted, matching] of [
    [error, 2],
    [error.replace('B', 'C'), 2],
    [error.replace('A', 'C'), 0],
    [error.replace('404', '410'), 0],
    [error.replace('shop7', 'shop8'), 0],
  ] as const) {
    expect([wanted, await loadMatching(database.ops, 'retry', { error: wanted })]).toMatchObject([
      wanted,
      { matching },
    ]);
  }
});

it('a rerun of more than 5,000 events is refused', async () => {
  const at = new Date();
  await seed(database, { done: MAX_RERUN + 2 }, { at, event: { source: 'many' }, body: '{}' });
  expect(await loadMatching(database.ops, 'rerun', { source: 'many' })).toMatchObject({
    matching: MAX_RERUN + 1,
    groups: [{ others: MAX_RERUN - 4 }],
  });
  expect(await rerun({ source: 'many' })).toMatchObject({ outcome: 'too_many' });
  await sql(`delete from webhooks.events where source = 'many' and event_id in ('done_1', 'done_2')`);
  expect(await rerun({ source: 'many' })).toEqual(changed(MAX_RERUN, 0));
});

it('the list of an action has its events, and those whose effects it changed', async () => {
  const { received } = (await retry({ source: 'test' })) as { received: unknown };
  expect(received).toEqual([NOW, NOW]);
  const list = async (action_at: Date) => {
    const { events } = await listEvents(database.ops, { action_at }, { after: undefined, limit: 9 });
    return events.map(({ event_id, pending_effects }) => [event_id, pending_effects]).sort();
  };
  expect(await list(LATER)).toEqual([
    ['done_2', 1],
    ['parked_1', 0],
    ['parked_2', 0],
  ]);
  expect(await list(NOW)).toEqual([]);
});
