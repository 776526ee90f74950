import type { Mutant } from './mutant.ts';

const ACCESS_TEST = 'test/engine/console/access.test.ts';
const SESSIONS_TEST = 'test/engine/console/sessions.test.ts';

/** Faults in what keeps strangers out of the console, and operators from accidents. */
export const console: readonly Mutant[] = [
  {
    fault: 'the API of the console takes any token',
    file: 'src/console/identify.ts',
    find: "if (!(await sameText(bearer, access.token))) return { outcome: 'refused' };",
    replace: '',
    caughtBy: { file: ACCESS_TEST, name: 'the API takes the token as a bearer and nothing else' },
  },
  {
    fault: "the operator's token is compared with !==",
    file: 'src/console/identify.ts',
    find: '!(await sameText(bearer, access.token))',
    replace: 'bearer !== access.token',
    caughtBy: { file: ACCESS_TEST, name: 'crypto.subtle.verify alone decides whether the token is right' },
  },
  {
    fault: 'a deployed Worker without a token opens its console for everybody',
    file: 'src/console/access.ts',
    find: "isLoopback(request.url) && isLoopback(textOf(env, 'DATABASE_URL'))",
    replace: 'isLoopback(request.url)',
    caughtBy: { file: ACCESS_TEST, name: 'everything under /ops is 404' },
  },
  {
    fault: 'attempts to guess the token of the API are not limited',
    file: 'src/console/index.tsx',
    find: 'if (!success) return problem(429',
    replace: 'if (false) return problem(429',
    caughtBy: { file: ACCESS_TEST, name: 'requests over the limit are refused before the token is compared' },
  },
  {
    fault: 'a page of another site can send a form of the console',
    file: 'src/console/index.tsx',
    find: 'isFromAnotherSite(c.req.raw) || ',
    replace: '',
    caughtBy: { file: SESSIONS_TEST, name: 'has form tokens of its own' },
  },
  {
    fault: 'a form of the console needs no token of its session',
    file: 'src/console/index.tsx',
    find: ' || !(await signer.isFormToken(token, sessionId))',
    replace: '',
    caughtBy: { file: SESSIONS_TEST, name: 'has form tokens of its own' },
  },
  {
    fault: 'a page of another site can call the API of a console that is open on this machine',
    file: 'src/console/api.ts',
    find: 'if (isFromAnotherSite(c.req.raw))',
    replace: 'if (false)',
    caughtBy: { file: ACCESS_TEST, name: 'a page of another site can not change anything' },
  },
  {
    fault: 'the signature of a session is not verified',
    file: 'src/console/session.ts',
    find: '!(await this.#isSigned(',
    replace: 'false && !(await this.#isSigned(',
    caughtBy: { file: SESSIONS_TEST, name: 'ends for everybody when OPS_TOKEN is changed' },
  },
  {
    fault: 'a session never ends',
    file: 'src/console/session.ts',
    find: 'session.expires > now.getTime()',
    replace: 'true',
    caughtBy: { file: SESSIONS_TEST, name: 'it lasts twelve hours' },
  },
  {
    fault: 'a token of Cloudflare Access for another application is accepted',
    file: 'src/console/cloudflare-access.ts',
    find: 'iss !== issuer || !isForUs',
    replace: 'iss !== issuer',
    caughtBy: { file: ACCESS_TEST, name: 'a request with another audience is refused' },
  },
  {
    fault: 'an operator changes another number of events than the one shown',
    file: 'src/db/operate.ts',
    find: '::int is null or',
    replace: '::int is null or true or',
    caughtBy: {
      file: 'test/engine/db/operate.test.ts',
      name: 'retryParked changes nothing if another number of events matches than expected',
    },
  },
];
