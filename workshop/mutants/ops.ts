import type { Mutant } from './mutant.ts';

const ACCESS = 'src/ops/access.ts';
const ACCESS_TEST = 'test/engine/ops-worker/access.test.ts';

/** Faults in what keeps strangers out of the ops Worker, and operators from accidents. */
export const ops: readonly Mutant[] = [
  {
    fault: 'the ops Worker takes any token',
    file: ACCESS,
    find: '!(await sameText(given.password, token))',
    replace: 'false',
    caughtBy: { file: ACCESS_TEST, name: 'anything else is refused' },
  },
  {
    fault: "the operator's token is compared with !==",
    file: ACCESS,
    find: '!(await sameText(given.password, token))',
    replace: 'given.password !== token',
    caughtBy: { file: ACCESS_TEST, name: 'crypto.subtle.verify alone decides whether it is right' },
  },
  {
    fault: 'an ops Worker without Access and without a token lets everybody in',
    file: ACCESS,
    find: "return refused(403, 'Nobody",
    replace:
      "if (!access) return { outcome: 'known', who: '', by: 'browser', isLocal: false };\n  return refused(403, 'Nobody",
    caughtBy: { file: ACCESS_TEST, name: 'nobody is let in, and one sentence says' },
  },
  {
    fault: 'a token that can be guessed lets people in',
    file: ACCESS,
    find: 'token.length < MIN_TOKEN_LENGTH',
    replace: 'token.length < 1',
    caughtBy: { file: ACCESS_TEST, name: 'lets nobody in, not even through Cloudflare Access' },
  },
  {
    fault: 'the identity of wrangler dev counts through a tunnel, too',
    file: ACCESS,
    find: 'if (isLocal && !isOnThisMachine(request, env))',
    replace: 'if (false)',
    caughtBy: { file: ACCESS_TEST, name: 'it is closed for a tunnel that rewrites the host' },
  },
  {
    fault: 'the identity of wrangler dev counts although the database is elsewhere',
    file: ACCESS,
    find: ' && isLoopback(database)',
    replace: '',
    caughtBy: { file: ACCESS_TEST, name: 'it is closed for a database elsewhere' },
  },
  {
    fault: 'the identity of wrangler dev lets everybody in although there is a token',
    file: ACCESS,
    find: '!(access.aud === LOCAL_AUDIENCE && token !== undefined)',
    replace: 'true',
    caughtBy: { file: ACCESS_TEST, name: 'OPS_TOKEN closes it for other people' },
  },
  {
    fault: 'a sign-in to another application of Cloudflare Access counts',
    file: ACCESS,
    find: 'if (audience !== undefined && access.aud !== audience)',
    replace: 'if (false)',
    caughtBy: { file: ACCESS_TEST, name: 'only the application that ACCESS_AUD names counts' },
  },
  {
    fault: 'a page of another site can act',
    file: 'src/ops/app.tsx',
    find: 'if (isChange && !isFromOurPages(',
    replace: 'if (false && !isFromOurPages(',
    caughtBy: { file: ACCESS_TEST, name: "comes from our own pages, with 'a password'" },
  },
  {
    fault: 'a browser may act without saying from which site',
    file: ACCESS,
    find: "return by === 'bearer' || site !== null || origin !== null;",
    replace: 'return true;',
    caughtBy: { file: ACCESS_TEST, name: "comes from our own pages, with 'Cloudflare Access'" },
  },
  {
    fault: 'an operator changes another number of events than the one shown',
    file: 'src/db/actions.ts',
    find: '::int is null or',
    replace: '::int is null or true or',
    caughtBy: {
      file: 'test/engine/db/actions.test.ts',
      name: 'changes nothing if another number of events matches than expected',
    },
  },
];
