import fc from 'fast-check';

/** JSON that parsers, databases and JavaScript's own objects are known to stumble over, as text. */
const NASTY_JSON = [
  '-0',
  '1e999',
  '-1E-999',
  '9007199254740993',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u202e\\u2028\\ufeff"',
  '{"__proto__":{"id":"evt_1","type":"t"}}',
  '{"constructor":{"prototype":{"id":"evt_1"}}}',
  '{"toString":1,"hasOwnProperty":null,"then":{},"toJSON":"a"}',
  '{"length":4294967295,"0":"a"}',
  '{"id":1,"id":"two"}',
];

/** Like JSON, but not JSON. */
const BROKEN_JSON = ['', ' ', '{', '[1,]', '{a:1}', "{'a':1}", 'NaN', '01', '"\t"', '\0', '\ufeff{}', '{}{}'];

const nested = fc
  .integer({ min: 1, max: 1000 })
  .chain((depth) =>
    fc.constantFrom('['.repeat(depth) + ']'.repeat(depth), `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`),
  );
const long = fc
  .tuple(fc.constantFrom('9', '-9', '0.9', '1e9', '"x'), fc.integer({ min: 1, max: 5000 }))
  .map(([begin, length]) => begin.padEnd(length, begin.at(-1)) + (begin.startsWith('"') ? '"' : ''));

/** A JSON value as text. */
export const json = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...NASTY_JSON) },
  { weight: 2, arbitrary: fc.json({ maxDepth: 3 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)) },
  nested,
  long,
);

export const brokenJson = fc.oneof(fc.constantFrom(...BROKEN_JSON), fc.string({ unit: 'binary' }));

/** What HTTP allows as the value of a header: no control characters but the tab. */
export const headerValue = fc.oneof(
  fc.stringMatching(/^[\t -~\x80-\xff]*$/),
  fc.integer({ min: 1, max: 400 }).map((count) => 'v1=00,'.repeat(count)),
  fc.constantFrom('', '0', '-1', '__proto__', '=', ',', ';', 't=1,v1=', 'sha256=', 'Bearer ', 'null', '9'.repeat(3000)),
);

const KNOWN = [
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
];

/** Any text, or one that has a meaning somewhere in the console. */
export const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), fc.constantFrom(...KNOWN));
