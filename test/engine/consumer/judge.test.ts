import { describe, expect, it } from 'vitest';
import { backoff, judge } from '../../../src/consumer/judge.ts';
import { DatabaseError } from '../../../src/db/errors.ts';
import { withFailure } from '../../../src/kit/errors.ts';
import { PermanentError, RetryLater } from '../../../src/kit/index.ts';

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

  it.each(['', 'a'])(
    'a long error is cut without leaving half a character, which Neon could not parse (it begins with %j)',
    (before) => {
      const failure = judged(new Error(`${before}${'😀'.repeat(600)}`));
      const { error } = failure as { error: string };
      expect([error.length, error.isWellFormed()]).toEqual([1000, true]);
    },
  );

  it('the paths that failed are cut to what Postgres can store and a person would read', () => {
    const paths = ['a\0b.c', 'x'.repeat(10_000), ...Array.from({ length: 5000 }, String)];
    expect(judged(withFailure(new PermanentError('no'), 'schema', paths))).toMatchObject({
      failure: 'schema',
      failedPaths: ['a b.c', 'x'.repeat(200), ...Array.from({ length: 18 }, String)],
    });
  });

  it.each([
    ['a value', 'Invalid URL: 64720e58a1b2c3d4/receipts', 'Invalid URL: [MAIL_KEY]/receipts'],
    ['a URL', 'can not load https://chat.example.com/services/T01/xoxb4711secret', 'can not load [CHAT_URL]'],
    ['a part of a URL', 'no service xoxb4711secret', 'no service [CHAT_URL]'],
    ['a password in a URL', 'role app, password correcthorse', 'role app, password [DATABASE_URL]'],
    ['a line of a key', 'Invalid key: MIIEvQIBADANBg', 'Invalid key: [SIGNING_KEY]'],
    ['what is cut', `${'x'.repeat(975)} 64720e58a1b2c3d4`, `${'x'.repeat(975)} [MAIL_KEY]`],
    ['nothing else', 'all services of chat.example.com say on', 'all services of chat.example.com say on'],
  ])('the message of an error that holds %s of the environment names it instead', (_what, message, expected) => {
    const env = {
      MAIL_KEY: '64720e58a1b2c3d4\n',
      CHAT_URL: 'https://chat.example.com/services/T01/xoxb4711secret',
      DATABASE_URL: 'postgres://app:correcthorse@db.example.com/app',
      SIGNING_KEY: '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----',
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
