import fc from 'fast-check';

/** JSON that parsers, databases and JavaScript's own objects are known to stumble over, as text. */
const NASTY_JSON = [
  'null',
  'true',
  '""',
  '[]',
  '{}',
  '[null]',
  '{"":""}',
  '-0',
  '1e999',
  '-1E-999',
  '0.1',
  '9007199254740993',
  '1e21',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u202e\\u2028\\ufeff"',
  '{"__proto__":{"id":"evt_1","type":"t"}}',
  '{"constructor":{"prototype":{"id":"evt_1"}}}',
  '{"toString":1,"hasOwnProperty":null,"then":{}}',
  '{"length":4294967295,"0":"a"}',
  '{"id":1,"id":"two"}',
  '{"toJSON":"a"}',
];

/** Like JSON, but not JSON. */
const BROKEN_JSON = [
  '',
  ' ',
  '{',
  '[1,]',
  '{a:1}',
  "{'a':1}",
  'NaN',
  '01',
  '"\t"',
  '\u0000',
  '\ufeff{}',
  '{}{}',
  'undefined',
];

const nested = fc
  .integer({ min: 1, max: 1000 })
  .chain((depth) =>
    fc.constantFrom('['.repeat(depth) + ']'.repeat(depth), `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`),
  );
const longNumber = fc
  .tuple(fc.constantFrom('', '-', '0.', '1e'), fc.integer({ min: 1, max: 2000 }))
  .map(([before, digits]) => before + '9'.repeat(digits));
const longText = fc.integer({ min: 1, max: 5000 }).map((length) => JSON.stringify('x'.repeat(length)));

/** A JSON value as text. */
export const json = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...NASTY_JSON) },
  { weight: 2, arbitrary: fc.json({ maxDepth: 3 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)) },
  nested,
  longNumber,
  longText,
);

export const brokenJson = fc.oneof(fc.constantFrom(...BROKEN_JSON), fc.string({ unit: 'binary' }));

const character = (from: number, to: number) =>
  fc.integer({ min: from, max: to }).map((code) => String.fromCharCode(code));

/** What HTTP allows as the value of a header: no control characters but the tab. */
export const headerValue = fc.oneof(
  fc.string({
    unit: fc.oneof({ weight: 5, arbitrary: character(0x20, 0x7e) }, character(0x80, 0xff), fc.constant('\t')),
  }),
  fc.integer({ min: 1, max: 3000 }).map((length) => 'x'.repeat(length)),
  fc.integer({ min: 1, max: 400 }).map((count) => 'v1=00,'.repeat(count)),
  fc.constantFrom('', '0', '-1', '__proto__', '=', ',', ';', 't=1,v1=', 'sha256=', 'Bearer ', 'null', '9'.repeat(40)),
);

/** Any text, or one that has a meaning somewhere in the console. */
export const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '',
    'stripe',
    'parked',
    'pending',
    'done',
    'retry',
    'discard',
    'rerun',
    '__proto__',
    'constructor',
    '\0',
  ),
);
