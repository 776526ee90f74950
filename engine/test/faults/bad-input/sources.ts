import type { Source } from '../../../src/kit/index.ts';
import { sources as known } from '../../receiver/providers/sources.ts';

/** Every provider as two sources: the tests have the keys of one, and nobody has those of the other. */
export const sources: Readonly<Record<string, Source>> = {
  ...known,
  ...Object.fromEntries(Object.entries(known).map(([name, source]) => [`${name}-unknown`, source])),
};
