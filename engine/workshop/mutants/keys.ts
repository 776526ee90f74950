import { faultsIn, type Mutant } from './mutant.ts';

/** Faults in what decides whether a token or a certificate is genuine, and in how keys are fetched. */
export const keys: readonly Mutant[] = [
  ...faultsIn(
    'engine/src/verify/jose.ts',
    ['verify/jose'],
    [
      ['a token may choose its algorithm', "if (jsonAt('alg', header) !== algorithm) return undefined;", ''],
      ['a token for somebody else is accepted', 'if (wrong) return refused(', 'if (false && wrong) return refused('],
      [
        'a token of another body is accepted',
        'if (scheme.bodyHash && textAt',
        'if (false && scheme.bodyHash && textAt',
      ],
      ['a token that has expired is accepted', '?? judgeExpiry(token, now)', ''],
      ['the signature of a token is not looked at', 'await compactVerify(', 'void ('],
    ],
  ),
  ...faultsIn(
    'engine/src/verify/fetched.ts',
    ['verify/jose'],
    [
      ['strangers decide how often a host is asked', '< ASK_EVERY_MS) return', '< 0) return'],
      [
        'keys are fetched by each of many deliveries',
        'const isAlive = running &&',
        'const isAlive = false && running &&',
      ],
      ['a fetch of keys follows redirects', "redirect: 'manual'", "redirect: 'follow'"],
      ['an answer of any size is read', 'if (bytes > MAX_BYTES) return undefined;', ''],
      ['keys are never forgotten', 'this.#youngerThan(USABLE_MS', 'this.#youngerThan(Number.POSITIVE_INFINITY'],
      [
        'a delivery waits for keys without a limit',
        'await withTimeLimit(TIME_LIMIT_MS, asking, ',
        'await withTimeLimit(60_000, asking, ',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/verify/certificates.ts',
    ['verify/certificates'],
    [
      ['a certificate is fetched from any host', '!scheme.from.some(', 'scheme.from.every('],
      ['the name of a certificate may hold a path', '/^[\\w-]{1,100}$/.test(name)', 'true'],
      ['an expired certificate is accepted', 'if (!isValidAt(key, now))', 'if (false)'],
      ['a message of another topic is accepted', 'if (wrong) return', 'if (false && wrong) return'],
    ],
  ),
  ...faultsIn(
    'engine/src/verify/x5c.ts',
    ['verify/apple'],
    [
      ['a leaf may sign another leaf', ' || !isAuthority(issuer)', ''],
      ['a leaf of another kind is believed', '!leaf?.extensions.has(leafExtension)', '!leaf'],
      ['an issuer of another kind is believed', '!issuer?.extensions.has(issuerExtension)', '!issuer'],
      [
        'a chain is believed after it has expired',
        '!chain?.certificates.every((certificate) => isValidAt(certificate, now))',
        '!chain',
      ],
      ['the signature of a leaf is not looked at', ' || !(await isSignedBy(leaf, issuer))', ''],
      ['the root of a chain is not looked at', '!(await isSignedBy(issuer, root)) || ', ''],
    ],
  ),
];
