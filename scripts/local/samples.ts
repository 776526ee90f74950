import { inHouse } from './samples/in-house.ts';
import { money } from './samples/money.ts';
import { people } from './samples/people.ts';
import type { Samples } from './samples/sample.ts';
import { work } from './samples/work.ts';

export type { Sample } from './samples/sample.ts';

/** One for each provider, by its name. */
export const samples: Samples = { ...inHouse, ...money, ...people, ...work };
