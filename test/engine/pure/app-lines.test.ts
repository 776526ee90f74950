import { expect, it } from 'vitest';
import { placesOf } from '../../../src/consumer/judge.ts';

// That the table of a deployed consumer is right is tested in setup/production.test.ts.

it('a position gets the lines of src/app that the table knows, and other frames stay as they are', () => {
  const table = 'src/app/handlers/paid.ts 10 3 1 2; src/app/tables.ts 20 7';
  const places = [
    ['handle (index.js:10:9)', 'handle (src/app/handlers/paid.ts:3)'],
    ['handle (index.js:12:9) < async index.js:20:4', 'handle (src/app/handlers/paid.ts:6) < async src/app/tables.ts:7'],
    ['run (index.js:9:1) < run (index.js:13:1)', 'run (index.js:9:1) < run (index.js:13:1)'],
    [undefined, undefined],
  ];
  expect(places.map(([position]) => [position, placesOf(position, table)])).toEqual(places);
  expect(placesOf('handle (index.js:10:9)', '')).toBe('handle (index.js:10:9)');
});
