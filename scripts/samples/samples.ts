import { inHouse } from './in-house.ts';
import { money } from './money.ts';
import { people } from './people.ts';
import type { Samples } from './sample.ts';
import { work } from './work.ts';

export type { Sample } from './sample.ts';

/** One for each provider, by its name. */
export const samples: Samples = { ...inHouse, ...money, ...people, ...work };
