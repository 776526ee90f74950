import { expect, it } from 'vitest';
import { inOrderOf, problemOfTime } from '../../src/testing/index.ts';

it('the effects of an event are in the order in which its handler returned them', () => {
  const effects = ['a mail', 'note', 'z'].map((name) => ({ name }));
  expect(inOrderOf('2 changes, z, a mail, note', effects).map(({ name }) => name)).toEqual(['z', 'a mail', 'note']);
});

it('a time in a body that a handler would not get is said', () => {
  const now = new Date('2026-03-01T12:00:00Z');
  expect(problemOfTime(new Date('2027-01-01T00:00:00Z'), now)).toContain(
    'the body says that it happened at 2027-01-01',
  );
  expect(problemOfTime(new Date('2026-03-02T12:00:00Z'), now)).toBeUndefined();
  expect(problemOfTime(null, now)).toBeUndefined();
});
