import { describe, expect, it } from 'vitest';
import { inAppLines } from '../../src/consumer/app-lines.ts';
import { backoff, judge } from '../../src/consumer/judge.ts';
import { DatabaseError } from '../../src/db/errors.ts';
import { withFailure } from '../../src/kit/errors.ts';
import { PermanentError, RetryLater } from '../../src/kit/index.ts';

describe('backoff', () => {
  it('the longest wait doubles from 5 s to 1 h', () => {
    const longest = Array.from({ length: 13 }, (_, n) => backoff(n + 1, 0));
    expect(longest).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600]);
  });

  it('a wait is random between one second and the longest wait', () => {
    expect([0, 0.25, 0.5, 0.9999].map((random) => backoff(8, random))).toEqual([640, 480, 320, 1]);
  });
});

describe('judge', () => {
  const judged = (failure: unknown, attemptsBefore = 0, env = {}) => judge(failure, { attemptsBefore, random: 0, env });

  it.each([
    ['an error is tried again', new Error('no'), { outcome: 'retry', seconds: 5, failure: 'handler' }],
    ['an error at the eleventh attempt is tried again', new Error('no'), { outcome: 'retry', seconds: 3600 }, 10],
    ['an error at the twelfth attempt is parked', new Error('no'), { outcome: 'parked', error: 'Error: no' }, 11],
    ['a PermanentError is parked', new PermanentError('no'), { outcome: 'parked', failure: 'permanent' }],
    [
      'RetryLater is tried again after its time',
      new RetryLater(90),
      { outcome: 'retry', seconds: 90, failure: 'retry_later' },
    ],
    ['RetryLater beyond a day is tried again after a day', new RetryLater(1e9), { outcome: 'retry', seconds: 86_400 }],
    ['RetryLater(0) is tried again after a second', new RetryLater(0), { outcome: 'retry', seconds: 1 }],
    ['RetryLater at the twelfth attempt is parked', new RetryLater(90), { outcome: 'parked' }, 11],
    [
      'a full project counts no attempt',
      new DatabaseError('full', { retryable: true, code: '53100' }),
      { outcome: 'database_unavailable' },
      11,
    ],
    [
      'a retryable error of Postgres is tried again',
      new DatabaseError('away', { retryable: true }),
      { outcome: 'retry', failure: 'database' },
    ],
    [
      'a retryable error of Postgres at the twelfth attempt is parked',
      new DatabaseError('away', { retryable: true }),
      { outcome: 'parked' },
      11,
    ],
    ['a refusal of Postgres is tried again', new DatabaseError('refused', { retryable: false }), { outcome: 'retry' }],
  ])('%s', (_what, failure, expected, before = 0) => {
    expect(judged(failure, before as number)).toMatchObject(expected);
  });

  it('the name of an error is in the reason, which is logged, only if it is a plain name', () => {
    const named = (name: string) => judged(Object.assign(new Error('no'), { name }));
    expect(named('PaymentError')).toMatchObject({ reason: 'PaymentError', error: 'PaymentError: no' });
    expect(named('\u202e jane@example.com')).toMatchObject({ reason: 'Error', error: 'jane@example.com: no' });
  });

  it('another run that completed the event first is not a failure', () => {
    const facts = { retryable: false, code: '23514', constraint: 'completed_at_most_once' };
    expect(judged(new DatabaseError('no', { ...facts, table: 'webhooks.events' }))).toEqual({
      outcome: 'already_finished',
    });
    expect(judged(new DatabaseError('no', { ...facts, table: 'public.events' }))).toMatchObject({ outcome: 'retry' });
  });

  it('the name of an error may be anything', () => {
    expect(judged(Object.assign(new Error('no'), { name: 1n }))).toMatchObject({ error: '1: no', reason: 'Error' });
  });

  it('an error of Postgres is stored and logged with our own message, without a position', () => {
    const refused = { error: 'refused', reason: 'refused', position: undefined };
    expect(judged(new DatabaseError('refused', { retryable: false }))).toMatchObject(refused);
  });

  it.each([
    [['a_check', 'b_check'], 'b_check', 'parked'],
    [['a_check'], 'b_check', 'retry'],
    [['a_check'], undefined, 'retry'],
    [undefined, 'b_check', 'retry'],
  ])('with parkOn %j, an error of Postgres about %s is %s', (parkOn, constraint, outcome) => {
    const error = new DatabaseError('refused', { retryable: false, code: '23514', constraint });
    const attempt = { attemptsBefore: 0, random: 0, env: {}, ...(parkOn ? { parkOn } : {}) };
    expect(judge(error, attempt)).toMatchObject({ outcome, failure: 'database' });
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, undefined, null, 'soon', 1n, {}])(
    'RetryLater(%s) is parked, because another try cannot help',
    (seconds) => {
      const error = `RetryLater takes a number of seconds from 0 up, and not ${seconds}. RetryLater: later`;
      const thrown = new RetryLater(seconds as number, 'later');
      expect(judged(thrown)).toMatchObject({ outcome: 'parked', seconds: 0, error });
    },
  );

  it.each([
    [1, 0, 'parked', 'Error: no'],
    [2, 0, 'retry', 'Error: no'],
    [2, 1, 'parked', 'Error: no'],
    ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '3', null].map(
      (attempts): [unknown, number, string, string] => {
        const problem = `the handler's attempts must be a whole number from 1 up, and not ${attempts}`;
        return [attempts, 0, 'parked', `${problem}. Error: no`];
      },
    ),
  ])('with at most %j attempts and %i made before, an error is %s', (maxAttempts, attemptsBefore, outcome, error) => {
    const attempt = { attemptsBefore, random: 0, env: {}, maxAttempts: maxAttempts as number };
    expect(judge(new Error('no'), attempt)).toMatchObject({ outcome, error });
  });

  const unreadable = new Proxy(new Error('no'), {
    get: () => {
      throw new Error('no property');
    },
  });
  const unreadableMessage = {
    get message() {
      throw new Error('from the getter');
    },
  };
  it.each([
    ['null', null, 'retry', 'the thrown value is not an Error (null)'],
    ['undefined', undefined, 'retry', 'the thrown value is not an Error (undefined)'],
    ['a text', 'about somebody', 'retry', 'the thrown value is not an Error (string)'],
    ['a bigint', 1n, 'retry', 'the thrown value is not an Error (bigint)'],
    ['a symbol', Symbol('no'), 'retry', 'the thrown value is not an Error (symbol)'],
    ['an object that cannot be read', unreadableMessage, 'retry', 'the thrown value is not an Error (object)'],
    ['an unreadable Error', unreadable, 'parked', 'the thrown value cannot be read'],
    [
      'an Error whose message is a symbol',
      Object.assign(new Error(), { message: Symbol('no') }),
      'parked',
      'the thrown value cannot be read',
    ],
  ])('if %s is thrown, the error says what to throw instead, without the value', (_what, thrown, outcome, words) => {
    const text = `${words}: throw an Error, or a PermanentError or RetryLater of claimcheck`;
    const failure = { outcome, failure: 'handler', failedPaths: null, position: undefined, error: text, reason: text };
    const maxAttempts = outcome === 'retry' ? 12 : undefined;
    expect(judged(thrown)).toEqual({ ...failure, maxAttempts, seconds: outcome === 'retry' ? 5 : 0 });
  });

  it.each(['', 'a'])(
    'a long error is cut without leaving half a character, which Neon could not parse (it begins with %j)',
    (before) => {
      const failure = judged(new Error(`${before}${'😀'.repeat(600)}`));
      const { error } = failure as { error: string };
      expect([error.length, error.isWellFormed()]).toEqual([1000, true]);
    },
  );

  it('failed paths are shortened to what Postgres can store and a person would read', () => {
    const paths = ['a\0b.c', 'x'.repeat(10_000), ...Array.from({ length: 5000 }, String)];
    expect(judged(withFailure(new PermanentError('no'), 'schema', paths))).toMatchObject({
      failure: 'schema',
      failedPaths: ['a b.c', 'x'.repeat(200), ...Array.from({ length: 18 }, String)],
    });
  });

  it.each([
    ['a value', 'Invalid URL: 64720e58a1b2c3d4/receipts', 'Invalid URL: [MAIL_KEY]/receipts'],
    ['a URL', 'cannot load https://chat.example.com/services/T01/xoxb4711secret', 'cannot load [CHAT_URL]'],
    ['a part of a URL', 'no service xoxb4711secret', 'no service [CHAT_URL]'],
    ['a password in a URL, twice', 'correcthorse or correcthorse', '[DATABASE_URL] or [DATABASE_URL]'],
    ['a line of a key', 'Invalid key: MIIEvQIBADANBg', 'Invalid key: [SIGNING_KEY]'],
    ['what is cut', `${'x'.repeat(975)} 64720e58a1b2c3d4`, `${'x'.repeat(975)} [MAIL_KEY]`],
    ['the longer of two, one of which is a part of the other', 'no 64720e58a1b2c3d4/services', 'no [MAIL_URL]'],
    ['words with white space around them', 'no correct horse battery', 'no [WORDS]'],
    ['eight characters', 'a1B2c3D4', '[SHORT]'],
    ['seven characters', 'a1B2c3D', 'a1B2c3D'],
    ['nothing else', 'all services of chat.example.com say on', 'all services of chat.example.com say on'],
  ])('if an error’s message contains %s of the environment, it is replaced by its name', (_what, message, expected) => {
    const env = {
      MAIL_KEY: '64720e58a1b2c3d4\n',
      CHAT_URL: 'https://chat.example.com/services/T01/xoxb4711secret',
      DATABASE_URL: 'postgres://app:correcthorse@db.example.com/app',
      SIGNING_KEY: '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----',
      MAIL_URL: '64720e58a1b2c3d4/services',
      SHORT: 'a1B2c3D4',
      SHORTER: 'a1B2c3D',
      WORDS: ' correct horse battery\n',
      MODE: 'on',
      DAYS: 30,
    };
    expect(judged(new TypeError(message), 0, env)).toMatchObject({ error: `TypeError: ${expected}` });
  });

  it('the message of an error goes to Postgres, and only its name goes to the log', () => {
    const failure = judged(new TypeError('about somebody'));
    expect(failure).toMatchObject({ error: 'TypeError: about somebody', reason: 'TypeError' });
  });
});

// That the table of a deployed consumer is right is tested in setup/production.test.ts.
it('a position gets the lines of src in the table, and other frames are unchanged', () => {
  const table = 'src/handlers/paid.ts 10 3 1 2; src/tables.ts 20 7';
  const places = [
    ['handle (index.js:10:9)', 'handle (src/handlers/paid.ts:3)'],
    ['handle (index.js:12:9) < async consumer.js:20:4', 'handle (src/handlers/paid.ts:6) < async src/tables.ts:7'],
    ['run (index.js:9:1) < run (index.js:13:1)', 'run (index.js:9:1) < run (index.js:13:1)'],
    [undefined, undefined],
  ];
  expect(places.map(([position]) => [position, inAppLines(position, table)])).toEqual(places);
  expect(inAppLines('handle (index.js:10:9)', '')).toBe('handle (index.js:10:9)');
});
