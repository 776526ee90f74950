import { faultsIn, type Mutant } from './mutant.ts';

/** Faults in what decides whether a delivery is genuine. */
export const verification: readonly Mutant[] = [
  ...faultsIn(
    'engine/src/verify/algorithms.ts',
    ['verify/comparison', 'verify/verify'],
    [
      [
        'two texts are compared with ===, which takes longer the more of them is equal',
        "return crypto.subtle.verify('HMAC', key as CryptoKey, signature, utf8.encode(other));",
        'return one === other;',
      ],
      [
        'a public key without its prefix is used as a shared secret',
        "if (!prefixed && !algorithm.startsWith('hmac-')) return undefined;",
        '',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/verify/index.ts',
    ['verify/comparison', 'verify/json-once', 'verify/verify', 'verify/negatives', 'verify/custom'],
    [
      [
        'the token of a provider is compared with ===',
        'if (await sameText(expected, given))',
        'if (expected === given)',
      ],
      [
        'the body is parsed before it is verified, in the verification itself',
        'const withJson = DeliveryWithJson.from(delivery);',
        'const withJson = DeliveryWithJson.from(delivery); withJson.readJson();',
      ],
      [
        'a delivery that was signed long ago is accepted',
        'if (Math.abs(secondsOff) <= windowSeconds) return undefined;',
        'return undefined;',
      ],
      ['a delivery that was signed in the future is accepted', 'Math.abs(', '('],
      [
        'a time that only begins with digits is accepted',
        '!/^\\d{1,15}$/.test(text)',
        'Number.isNaN(Number.parseInt(text, 10))',
      ],
      ['a time that is written as a text may have no zone', '(Z|[+-]\\d\\d:\\d\\d)$/', '/'],
      [
        'the signatures of each place are counted, and not those of all',
        '[...signatures.values()].flat().length > MAX_CANDIDATES',
        '[...signatures.values()].some((texts) => texts.length > MAX_CANDIDATES)',
      ],
      [
        'a header may hold any number of signatures to try',
        'if ([...signatures.values()].flat().length > MAX_CANDIDATES)',
        'if (false)',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/shared/json.ts',
    ['pure/shared'],
    [
      [
        'a number beyond 2^53 is rounded, so that two ids can become one',
        'hasLongNumber ? JSON.parse(text, keepDigits) :',
        '',
      ],
      [
        'a fraction with many digits becomes a string, so that no schema for numbers takes it',
        '/^-?\\d+$/.test(text) && !',
        '!',
      ],
      [
        'an escaped quote ends a string, so that the numbers behind it are rounded',
        ` i++;
      else if`,
        ` {}
      else if`,
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/verify/places.ts',
    ['receiver/identify'],
    [
      ['an unsigned header counts as signed', 'values.signedHeaders?.includes(rest) ?', 'values.signedHeaders ?'],
      [
        'a captured body may be sent again as any type that repeats its bodies',
        'return conditions.every(',
        'return conditions.some(',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/receiver/identify.ts',
    ['receiver/identify'],
    [
      [
        'a time that cannot be stored hides the other places of the time',
        'if (time !== undefined && isStorableTime(time)) return time;',
        'if (time !== undefined) return isStorableTime(time) ? time : null;',
      ],
      [
        'a time without a zone is read as local time',
        "new Date(text.replace(WITHOUT_ZONE, '$1T$2Z'))",
        "new Date(text.replace(WITHOUT_ZONE, '$1T$2+01:00'))",
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/verify/items.ts',
    ['pure/batches'],
    [
      [
        'only the first id of an item finds its contact',
        'idsIn(item, itemIds).flatMap(',
        'idsIn(item, itemIds).slice(0, 1).flatMap(',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/providers/contentful.ts',
    ['verify/verify'],
    [['a signature of Contentful may leave out its time', "[LIST, 'x-contentful-timestamp']", '[LIST]']],
  ),
  ...faultsIn(
    'engine/src/providers/zoom.ts',
    ['receiver/providers/handshakes'],
    [['Zoom’s handshake signs any text', '/^[\\w.~-]{1,256}$/', '/./s']],
  ),
];
