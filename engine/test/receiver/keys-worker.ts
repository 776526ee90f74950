import { defineProvider } from '../../src/kit/index.ts';
import { log } from '../../src/shared/log.ts';
import { jose } from '../../src/verify/jose.ts';
import { mountedReceiver } from '../mounted.ts';

/** Its keys are where the test says. */
const remote = defineProvider({
  name: 'remote',
  docs: 'none: it exists in this test only',
  scheme: jose({
    signature: 'header:x-token',
    algorithm: 'RS256',
    settings: { keys: /^http:\/\/127\.0\.0\.1:\d+\/keys$/ },
    keys: { jwks: '{keys}' },
  }),
  id: { at: '{json:id}', signed: true },
  type: [],
});

export default {
  fetch: mountedReceiver({ sources: { remote: { provider: remote, types: [] } }, now: () => new Date(), log }).fetch,
};
