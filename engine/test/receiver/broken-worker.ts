import { defineProvider } from '../../src/kit/index.ts';
import { log } from '../../src/shared/log.ts';
import { sources } from '../fixture/sources.ts';
import { mountedReceiver } from '../mounted.ts';

/** A provider with a mistake in its own code. The message stands for personal data, its second line for a frame. */
const broken = defineProvider({
  name: 'broken',
  docs: 'none: it exists in this test only',
  scheme: {
    signature: 'header:x-signature',
    encoding: 'hex',
    key: 'utf8',
    signed: {
      custom: ({ body }) => {
        throw new RangeError(`canary-7f3a ${body.length}\n    at canary-7f3a (index.js:1:2)`);
      },
      words: 'nothing',
    },
  },
  id: { at: '{json:id}', signed: true },
  type: [],
});

export default {
  fetch: mountedReceiver({
    sources: { ...sources, broken: { provider: broken, types: [] } },
    now: () => new Date(),
    log,
  }).fetch,
};
