import type { Source } from './source.ts';

/** Makes the body of a sample delivery. A provider that has the id in its body expects this one. */
export type SampleBody = (event: { readonly id: string; readonly type: string; readonly now: Date }) => object;

export type Samples = Readonly<Record<string, Readonly<Record<string, SampleBody | undefined>> | undefined>>;

/** Bodies of your own for `npm run send`, `npm run demo` and your tests, by source and type. */
export function defineSamples<Sources extends Record<string, Source>>(
  _sources: Sources,
  samples: { readonly [Name in keyof Sources]?: { readonly [Type in Sources[Name]['types'][number]]?: SampleBody } },
): Samples {
  return samples;
}

/** A call of a handler or an effect to the outside. On your machine a stand-in receives it. */
export interface OutsideCall {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly body: string;
}

/** The JSON that the stand-in answers. For `undefined` it answers `{}`. */
export type OutsideAnswer = (call: OutsideCall) => object | undefined;
