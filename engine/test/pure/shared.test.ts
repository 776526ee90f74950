import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromBase64, fromBase64Url, sha256 } from '../../src/shared/bytes.ts';
import { decodeText, formFields, formOf, parseJson, parseLines } from '../../src/shared/json.ts';
import { isLoopback } from '../../src/shared/loopback.ts';
import { memoize } from '../../src/shared/memoize.ts';
import { problem } from '../../src/shared/problem.ts';
import { settingOf } from '../../src/shared/settings.ts';
import { cleanText, isStorableText, isStorableTime } from '../../src/shared/text.ts';
import { childTraceparent, fetchInTrace, isTraceparent, traceFields } from '../../src/shared/trace.ts';
import { RUNS } from './generators.ts';

const utf8 = new TextEncoder();
const malformed = { outcome: 'malformed' };
const parsed = (json: unknown) => ({ outcome: 'parsed', json });

describe('JSON', () => {
  const nested = (depth: number, [open, close]: string) => `${open?.repeat(depth)}${close?.repeat(depth)}`;

  it.each([
    ['512 deep', nested(512, '[]'), 'parsed'],
    ['513 deep', nested(513, '[]'), 'malformed'],
    ['513 deep in objects', `${'{"a":'.repeat(512)}{}${'}'.repeat(512)}`, 'malformed'],
    ['600 lists one after the other', `[${Array.from({ length: 600 }, () => '[{}]').join()}]`, 'parsed'],
    ['600 brackets in a text', JSON.stringify(`\\"${'['.repeat(600)}`), 'parsed'],
    ['600 brackets behind a text that ends with a backslash', `["\\\\",${nested(600, '[]')}]`, 'malformed'],
  ])('%s is %s', (_what, text, outcome) => {
    expect(parseJson(text).outcome).toBe(outcome);
  });

  it.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', '9007199254740992'],
    ['-9007199254740993', '-9007199254740993'],
    ['[1,"x",1234567890123456]', [1, 'x', 1234567890123456]],
    ['{"a":12345678901234567890,"b":"12345678901234567890"}', { a: '12345678901234567890', b: '12345678901234567890' }],
    ['"\\"12345678901234567890"', '"12345678901234567890'],
    // No other number is a string, or a schema that wants a number would park the event.
    ['-0.12345678901234567891', -0.12345678901234568],
    ['9007199254740993.5', 9007199254740994],
    ['0.1000000000000000055511151231257827', 0.1],
    ['1e30', 1e30],
    ['1000000000000000000000e1', 1e22],
  ])('%s keeps its digits only if it is an integer that JavaScript would round', (text, json) => {
    expect(parseJson(text)).toEqual(parsed(json));
  });

  it.each(['', '{', '[1,]', '{"a":1} x', "{'a':1}", '\ufeff{}'])('%j is malformed', (text) => {
    expect(parseJson(text)).toEqual(malformed);
  });

  it.each([
    ['{"a":1}\n\n{"b":12345678901234567890}\n', parsed([{ a: 1 }, { b: '12345678901234567890' }])],
    ['{"a":1}\n{"b"\n', malformed],
    [' \n\t\n', malformed],
  ])('the lines %j', (text, result) => {
    expect(parseLines(text)).toEqual(result);
  });

  it('a body must be UTF-8, and its byte order mark is kept', () => {
    expect(decodeText(utf8.encode('\ufeff😀\0'))).toBe('\ufeff😀\0');
    expect(decodeText(Uint8Array.of(0x61, 0xff))).toBeUndefined();
  });
});

describe('a form', () => {
  const form = (type: string | undefined, body = utf8.encode('a=1&b=%20&a=2')) =>
    formOf(new Headers(type === undefined ? {} : { 'content-type': type }), body);

  it.each(['application/x-www-form-urlencoded', 'Application/X-WWW-Form-URLencoded ; charset=utf-8'])(
    'is read with the content type %j',
    (type) => {
      expect([...(form(type) ?? [])]).toEqual([
        ['a', '1'],
        ['b', ' '],
        ['a', '2'],
      ]);
      expect([...formFields(form(type) as URLSearchParams)]).toEqual([
        ['a', ['1', '2']],
        ['b', [' ']],
      ]);
    },
  );

  it('is not read with another content type, or if it is not text', () => {
    for (const type of [undefined, '', 'application/json', 'x application/x-www-form-urlencoded']) {
      expect(form(type)).toBeUndefined();
    }
    expect(form('application/x-www-form-urlencoded', Uint8Array.of(0xff))).toBeUndefined();
  });
});

describe('a text', () => {
  it.each([
    ['', true],
    ['\n\u007f é😀', true],
    ['a\0', false],
    ['\ud800a', false],
    ['a\udc00', false],
    [7, false],
    [null, false],
    [['a'], false],
  ])('%j can be stored: %s', (text, isStorable) => {
    expect(isStorableText(text)).toBe(isStorable);
  });

  it.each([
    ['  two\r\n\t lines\u2028and\u2029more\0 ', 100, 'two  lines and more'],
    ['\u202eturned\u200b around', 100, 'turned  around'],
    ['half \ud800.', 100, 'half \ufffd.'],
    ['12345', 3, '123'],
    ['12😀', 3, '12\ufffd'],
  ])('%j is reduced to one line of at most %i characters', (text, length, clean) => {
    expect(cleanText(text, length)).toBe(clean);
  });
});

it.each([
  ['0000-12-31T23:59:59.999Z', false],
  ['0001-01-01T00:00:00.000Z', true],
  ['9999-12-31T23:59:59.999Z', true],
  ['+010000-01-01T00:00:00.000Z', false],
  ['never', false],
])('the time %s can be stored: %s', (time, isStorable) => {
  expect(isStorableTime(new Date(time))).toBe(isStorable);
});

describe('a trace', () => {
  // Zeros at both ends are not nothing but zeros.
  const ID = '00f92f3577b34da6a3ce929d0e0e4700';
  const PARENT = '00f067aa0ba902b7';
  const good = `00-${ID}-${PARENT}-01`;

  it.each([good, `00-${ID}-${PARENT}-00`, `01-${ID}-${PARENT}-01-${'x'.repeat(72)}`, `cc-${ID}-${PARENT}-01`])(
    '%s is valid',
    (header) => {
      expect(isTraceparent(header)).toBe(true);
      expect(traceFields(header)).toEqual({ trace_id: ID });
    },
  );

  it.each([
    undefined,
    null,
    '',
    `ff-${ID}-${PARENT}-01`,
    `00-${ID}-${PARENT}-01-more`,
    `01-${ID}-${PARENT}-01-${'x'.repeat(73)}`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${ID}-${'0'.repeat(16)}-01`,
    `00-${ID.toUpperCase()}-${PARENT}-01`,
    `0-${ID}-${PARENT}-01`,
    `x${good}`,
    `${good}x`,
    `${good}\n`,
    ` ${good}`,
    `${good}, ${good}`,
  ])('%s is invalid and so ignored', (header) => {
    expect(isTraceparent(header)).toBe(false);
    expect(traceFields(header)).toEqual({});
    expect(childTraceparent(header, () => 0)).toBeUndefined();
  });

  it('continues with a new parent id that never consists of zeros, and keeps only the sampled flag', () => {
    expect(childTraceparent(good, () => 0)).toBe(`00-${ID}-1000000000000000-01`);
    expect(childTraceparent(good, () => 0.999)).toBe(`00-${ID}-ffffffffffffffff-01`);
    const flagsOf = (flags: string) => childTraceparent(good.replace(/..$/, flags), () => 0)?.slice(-2);
    expect(['00', '01', '02', 'ff'].map(flagsOf)).toEqual(['00', '01', '00', '01']);
  });

  it('is added to a call’s headers unless they already have one', async () => {
    const sent: [unknown, RequestInit | undefined][] = [];
    const outside = (async (url: unknown, init?: RequestInit) => sent.push([url, init])) as unknown as typeof fetch;
    const traced = fetchInTrace(outside, good, () => 0);
    await traced('https://example.com/1', { method: 'PUT', headers: { a: '1' } });
    await traced(new Request('https://example.com/2', { headers: { a: '2' } }));
    await traced('https://example.com/3', { headers: { traceparent: 'own' } });
    await fetchInTrace(outside, 'invalid', () => 0)('https://example.com/4');
    const child = `00-${ID}-1000000000000000-01`;
    expect(sent.map(([, init]) => init && Object.fromEntries(new Headers(init.headers)))).toEqual([
      { a: '1', traceparent: child },
      { a: '2', traceparent: child },
      { traceparent: 'own' },
      undefined,
    ]);
    expect(sent[0]?.[1]?.method).toBe('PUT');
  });
});

it('a problem is JSON with its own type, and with the headers of its caller', async () => {
  const answer = problem(405, 'no', undefined, { allow: 'POST' });
  expect([answer.status, ...answer.headers.keys()]).toEqual([405, 'allow', 'content-type']);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(await answer.json()).toEqual({ type: 'about:blank', title: 'no', status: 405 });
  expect(await problem(400, 'no', 'why').json()).toMatchObject({ detail: 'why' });
});

it('a setting is a text, and an empty text counts as not set', () => {
  const env = { A: 'a', EMPTY: '', QUEUE: { send: 1 } };
  expect(['A', 'EMPTY', 'QUEUE', 'MISSING'].map((name) => settingOf(env, name))).toEqual([
    'a',
    undefined,
    undefined,
    undefined,
  ]);
});

it.each([
  ['localhost', true],
  ['127.0.0.1', true],
  ['[::1]', true],
  ['db.example.com', false],
  ['localhost.example.com', false],
  ['', false],
  [undefined, false],
])('the host %s is this machine: %s', (host, is) => {
  expect(isLoopback(host)).toBe(is);
});

it('a value is made once for each key, even if it is undefined', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(undefined, 'a', 'b')), (keys) => {
      const made: unknown[] = [];
      const make = memoize((key: string | undefined) => {
        made.push(key);
        return key;
      });
      expect(keys.map(make)).toEqual(keys);
      expect(made).toEqual([...new Set(keys)]);
    }),
    RUNS,
  );
});

it('with a limit, the value that was made first is removed', () => {
  const made: string[] = [];
  const make = memoize((key: string) => made.push(key), 2);
  for (const key of ['a', 'b', 'a', 'c', 'b', 'c', 'a']) make(key);
  expect(made).toEqual(['a', 'b', 'c', 'a']);
});

it('text that is not base64 or base64url is not decoded', async () => {
  expect([fromBase64('AA=A'), fromBase64Url('AA+/'), fromBase64Url('AA=='), fromBase64Url('A')]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(await sha256(utf8.encode('abc'))).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
