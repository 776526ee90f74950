import { beforeEach, describe, expect, it } from 'vitest';
import { claim } from '../../../src/db/claim.ts';
import { discardParked } from '../../../src/db/discard.ts';
import { recordEffectResults } from '../../../src/db/effects.ts';
import { rerunFinished } from '../../../src/db/rerun.ts';
import { retryParked } from '../../../src/db/retry.ts';
import { claimable } from '../claimable.ts';
import { useDatabase } from '../database.ts';

const database = useDatabase();
const { sql } = database;

const NOW = new Date('2026-03-01T12:00:00Z');
const LATER = new Date('2026-03-02T12:00:00Z');
const states = () => sql('select event_id, status, attempts, completions from webhook_events order by 1');
const effects = () => sql('select event_id, status from webhook_effects order by 1');

/** Two parked events and two done ones, one of these with a sent effect, one with a parked one. */
beforeEach(async () => {
  await sql('truncate webhook_events cascade');
  const events = [
    claimable('done_1', { type: 'paid' }),
    claimable('done_2', { type: 'refunded' }),
    claimable('parked_1', { type: 'paid' }),
    claimable('parked_2', { type: 'refunded' }),
  ];
  await claim(database.db, 'test', events, {}, NOW);
  await sql(`update webhook_events set finished_at = $1, attempts = 12, status = split_part(event_id, '_', 1)`, [NOW]);
  await sql(`update webhook_events set completions = 1, attempts = 1 where status = 'done'`);
  await sql(
    `insert into webhook_effects (source, event_id, name, kind, payload, status, due_at)
     values ('test', 'done_1', 'receipt', 'receipt', '{}', 'sent', $1),
            ('test', 'done_2', 'receipt', 'receipt', '{}', 'parked', $1)`,
    [NOW],
  );
});

describe('retryParked', () => {
  it('retryParked gives parked events and effects all their attempts back, and changes no others', async () => {
    expect(await retryParked(database.db, { source: 'test' }, LATER)).toEqual({ events: 2, effects: 1 });
    expect(await states()).toEqual([
      { event_id: 'done_1', status: 'done', attempts: 1, completions: 1 },
      { event_id: 'done_2', status: 'done', attempts: 1, completions: 1 },
      { event_id: 'parked_1', status: 'pending', attempts: 0, completions: 0 },
      { event_id: 'parked_2', status: 'pending', attempts: 0, completions: 0 },
    ]);
    expect(await effects()).toEqual([
      { event_id: 'done_1', status: 'sent' },
      { event_id: 'done_2', status: 'pending' },
    ]);
  });

  it('retryParked changes only what its filter matches', async () => {
    expect(await retryParked(database.db, { eventId: 'parked_1' }, LATER)).toEqual({ events: 1, effects: 0 });
    expect(await retryParked(database.db, { type: 'refunded' }, LATER)).toEqual({ events: 1, effects: 1 });
    expect(await retryParked(database.db, { source: 'other' }, LATER)).toEqual({ events: 0, effects: 0 });
  });
});

it('a discarded event becomes ignored, and keeps the reason and its error', async () => {
  await sql(`update webhook_events set last_error = 'Error: no' where event_id = 'parked_1'`);
  expect(await discardParked(database.db, { eventId: 'parked_1' }, 'sent by mistake')).toEqual({
    events: 1,
    effects: 0,
  });
  const rows = await sql(`select status, summary, last_error from webhook_events where event_id = 'parked_1'`);
  expect(rows).toEqual([{ status: 'ignored', summary: 'discarded: sent by mistake', last_error: 'Error: no' }]);
  expect(await discardParked(database.db, { eventId: 'done_1' }, 'finished events stay')).toEqual({
    events: 0,
    effects: 0,
  });
});

it('a discarded effect is deleted, and the summary of its event says so', async () => {
  expect(await discardParked(database.db, { eventId: 'done_2' }, 'no longer wanted')).toEqual({
    events: 0,
    effects: 1,
  });
  expect(await effects()).toEqual([{ event_id: 'done_1', status: 'sent' }]);
  const rows = await sql(`select status, summary from webhook_events where event_id = 'done_2'`);
  expect(rows).toEqual([{ status: 'done', summary: 'discarded receipt: no longer wanted' }]);
});

it('an effect that is sent stays sent, whatever the result of a second send is', async () => {
  const effect = { source: 'test', eventId: 'done_1', name: 'receipt', dueAt: LATER };
  await recordEffectResults(database.db, [{ ...effect, status: 'parked', error: 'Error: no' }], NOW);
  await recordEffectResults(database.db, [{ ...effect, status: 'pending', error: 'Error: no' }], NOW);
  expect(await effects()).toContainEqual({ event_id: 'done_1', status: 'sent' });
});

describe('rerunFinished', () => {
  it('rerunFinished makes finished events pending, and their effects are not sent again', async () => {
    const rerun = await rerunFinished(database.db, { type: 'paid' }, { effects: false, now: LATER });
    expect(rerun).toEqual({ events: 1, withoutBody: 0 });
    expect(await states()).toContainEqual({ event_id: 'done_1', status: 'pending', attempts: 0, completions: 0 });
    expect(await effects()).toContainEqual({ event_id: 'done_1', status: 'sent' });
  });

  it('rerunFinished with effects deletes the effects that were sent, so that they are sent again', async () => {
    await rerunFinished(database.db, { eventId: 'done_1' }, { effects: true, now: LATER });
    expect(await effects()).toEqual([{ event_id: 'done_2', status: 'parked' }]);
  });

  it('rerunFinished does not change discarded events', async () => {
    await discardParked(database.db, { eventId: 'parked_1' }, 'sent by mistake');
    const rerun = await rerunFinished(database.db, { eventId: 'parked_1' }, { effects: false, now: LATER });
    expect(rerun).toEqual({ events: 0, withoutBody: 0 });
  });

  it('rerunFinished changes only events that were received in the given time', async () => {
    const rerun = (since: Date, until: Date) =>
      rerunFinished(database.db, { since, until }, { effects: false, now: LATER });
    expect(await rerun(LATER, new Date('2027-01-01'))).toEqual({ events: 0, withoutBody: 0 });
    expect(await rerun(NOW, LATER)).toEqual({ events: 2, withoutBody: 0 });
  });

  it('rerunFinished counts the events whose bodies are gone, and they stay finished', async () => {
    await sql(`delete from webhook_bodies where event_id = 'done_1'`);
    const rerun = await rerunFinished(database.db, { source: 'test' }, { effects: true, now: LATER });
    expect(rerun).toEqual({ events: 1, withoutBody: 1 });
    expect(await effects()).toEqual([{ event_id: 'done_1', status: 'sent' }]);
  });
});
