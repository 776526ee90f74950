// YOURS: what takes the place of the real world on your machine. It is never deployed.

import { defineSamples, type OutsideAnswer } from 'claimcheck';
import { sources } from './sources.ts';

/** Bodies for `npm run send`, `npm run demo` and your tests. A type that is not named here gets a generic sample. */
export const samples = defineSamples(sources, {});

/** What calls to the outside are answered: JSON, or a Response, which may fail. `undefined` stands for `{}`. */
export const answers: OutsideAnswer = () => undefined;
