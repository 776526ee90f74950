import type { Mutant } from './mutant.ts';

const VERIFY = 'src/verify/index.ts';
const JSON_TEST = 'test/engine/pure/shared.test.ts';
const COMPARED = 'test/engine/verify/comparison.test.ts';

/** Faults in what decides whether a delivery is genuine. */
export const verification: readonly Mutant[] = [
  {
    fault: 'two texts are compared with ===, which takes longer the more of them is equal',
    file: 'src/verify/algorithms.ts',
    find: "return crypto.subtle.verify('HMAC', key as CryptoKey, signature, utf8.encode(other));",
    replace: 'return one === other;',
    caughtBy: { file: COMPARED, name: 'crypto.subtle.verify alone decides whether two texts are the same' },
  },
  {
    fault: 'the token of a provider is compared with ===',
    file: VERIFY,
    find: 'if (await sameText(expected, given))',
    replace: 'if (expected === given)',
    caughtBy: { file: COMPARED, name: 'is refused if crypto.subtle.verify says no' },
  },
  {
    fault: 'the body is parsed before it is verified, in the verification itself',
    file: VERIFY,
    find: 'const withJson = DeliveryWithJson.from(delivery);',
    replace: 'const withJson = DeliveryWithJson.from(delivery); withJson.readJson();',
    caughtBy: { file: 'test/engine/verify/json-once.test.ts', name: 'is not parsed if the signature is wrong' },
  },
  {
    fault: 'a delivery that was signed long ago is accepted',
    file: VERIFY,
    find: 'if (Math.abs(secondsOff) <= windowSeconds) return undefined;',
    replace: 'return undefined;',
    caughtBy: { file: 'test/engine/verify/verify.test.ts', name: 'accepts a difference of 300 seconds' },
  },
  {
    fault: 'a delivery that was signed in the future is accepted',
    file: VERIFY,
    find: 'Math.abs(',
    replace: '(',
    caughtBy: { file: 'test/engine/verify/verify.test.ts', name: 'accepts a difference of 300 seconds' },
  },
  {
    fault: 'a time that only begins with digits is accepted',
    file: VERIFY,
    find: '!/^\\d{1,15}$/.test(text)',
    replace: 'Number.isNaN(Number.parseInt(text, 10))',
    caughtBy: { file: 'test/engine/verify/verify.test.ts', name: 'refuses a timestamp that only begins with digits' },
  },
  {
    fault: 'a header may hold any number of signatures to try',
    file: VERIFY,
    find: 'if ([...signatures.values()].flat().length > MAX_CANDIDATES)',
    replace: 'if (false)',
    caughtBy: { file: 'test/engine/verify/verify.test.ts', name: 'accepted if one of up to ten matches' },
  },
  {
    fault: 'a public key without its prefix is used as a shared secret',
    file: 'src/verify/algorithms.ts',
    find: "if (!prefixed && !algorithm.startsWith('hmac-')) return undefined;",
    replace: '',
    caughtBy: {
      file: 'test/engine/verify/verify.test.ts',
      name: 'refuses a signature by key pair if the public key is configured without its prefix',
    },
  },
  {
    fault: 'a number beyond 2^53 is rounded, so that two ids can become one',
    file: 'src/shared/json.ts',
    find: 'hasLongNumber ? JSON.parse(text, keepDigits) :',
    replace: '',
    caughtBy: { file: JSON_TEST, name: 'keeps the digits that JavaScript would round' },
  },
  {
    fault: 'a fraction with many digits is rounded, so that two ids can become one',
    file: 'src/shared/json.ts',
    find: 'else if (char !== 0x2e /* . */)',
    replace: 'else',
    caughtBy: { file: JSON_TEST, name: 'keeps the digits that JavaScript would round' },
  },
  {
    fault: 'an escaped quote ends a string, so that the numbers behind it are rounded',
    file: 'src/shared/json.ts',
    find: ' i++;\n      else if',
    replace: ' {}\n      else if',
    caughtBy: { file: JSON_TEST, name: '600 brackets in a text' },
  },
  {
    fault: 'an unsigned header counts as signed',
    file: 'src/verify/places.ts',
    find: 'values.signedHeaders?.includes(rest) ?',
    replace: 'values.signedHeaders ?',
    caughtBy: { file: 'test/engine/receiver/identify.test.ts', name: 'only if the delivery signs it' },
  },
  {
    fault: 'a captured body may be sent again as any type that repeats its bodies',
    file: 'src/verify/places.ts',
    find: 'return conditions.every(',
    replace: 'return conditions.some(',
    caughtBy: { file: 'test/engine/receiver/identify.test.ts', name: 'repeat their bodies' },
  },
  {
    fault: 'a time without a zone is read as local time',
    file: 'src/receiver/identify.ts',
    find: "new Date(text.replace(WITHOUT_ZONE, '$1T$2Z'))",
    replace: "new Date(text.replace(WITHOUT_ZONE, '$1T$2+01:00'))",
    caughtBy: { file: 'test/engine/receiver/identify.test.ts', name: 'wherever the machine is' },
  },
];
