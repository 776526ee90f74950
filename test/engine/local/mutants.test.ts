import { expect, it } from 'vitest';
import { mutants } from '../../../workshop/mutants/list.ts';
import { misplaced } from '../../../workshop/mutants/mutant.ts';

// `npm run -w workshop mutants` takes minutes, so it is not part of CI. This shows at once that a fault has lost its place.

it('every fault of npm run -w workshop mutants can be put into its file, and has a sentence of its own', () => {
  expect(mutants.flatMap((mutant) => misplaced(mutant) ?? [])).toEqual([]);
  expect(new Set(mutants.map(({ fault }) => fault)).size).toBe(mutants.length);
});
