// Values for property tests. There are few of each, because a mistake often needs two that are equal.
import fc from 'fast-check';
import { EFFECT_STATUSES, type EventFilter, STATUSES } from '../../src/db/filter.ts';
import { FAILURES } from '../../src/db/schema.ts';
import type { Cursor } from '../../src/db/views.ts';

/** The same values at every run. A failure prints the seed and the path to its counterexample. */
export const RUNS = { seed: 20_260_301, numRuns: 200, includeErrorInReport: true };

export const sourceNames = fc.constantFrom('stripe', 'github-org');
/** Also ids that look like a field of a form, like another filter, or like the end of a text. */
export const ids = fc.constantFrom('evt_1', 'evt_2', 'a&b=c', '" é😀\\', '{}');
export const times = fc.constantFrom(
  '2026-02-28T23:59:59.999Z',
  '2026-03-01T00:00:00.000Z',
  '0001-01-01T00:00:00.000Z',
);
export const dates = times.map((time) => new Date(time));

/** Every field may be absent. */
export const filters: fc.Arbitrary<EventFilter> = fc.record(
  {
    source: sourceNames,
    q: ids,
    status: fc.constantFrom(...STATUSES),
    type: ids,
    failure: fc.constantFrom(...FAILURES),
    error: ids,
    effect_status: fc.constantFrom(...EFFECT_STATUSES),
    since: dates,
    until: dates,
    action_at: dates,
  },
  { requiredKeys: [] },
);

export const positions: fc.Arbitrary<Cursor> = fc.record({
  receivedAt: fc.constantFrom('2026-03-01 12:00:00+00', '2026-03-01 12:00:00.123456+00', '2026-03-01 12:00:00.1+05:30'),
  source: sourceNames,
  eventId: ids,
});

const nullable = <Value>(values: fc.Arbitrary<Value>) => fc.option(values, { nil: null });

/** Some of their values are absent, or the same as those of another. */
export const newEvents = fc.uniqueArray(
  fc.record({ eventId: ids, type: nullable(ids), occurredAt: nullable(dates), fingerprint: nullable(ids), body: ids }),
  { minLength: 1, selector: ({ eventId }) => eventId },
);

export const claimRequests = fc.record({
  source: sourceNames,
  events: newEvents,
  headers: fc.dictionary(fc.constantFrom('content-type', 'traceparent'), ids, { noNullPrototype: true }),
  receivedAt: dates,
  unsignedIds: fc.boolean(),
});

export const effectKeys = fc.record({ source: sourceNames, eventId: ids, name: ids });
