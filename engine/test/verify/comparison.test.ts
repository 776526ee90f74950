import { afterEach, describe, expect, it, vi } from 'vitest';
import { check, deliver, names, signatureSpots } from './deliveries.ts';

// WebCrypto compares in constant time, JavaScript's operators don't. So nothing else may decide, and nothing may decide
// before it: an early exit would reveal how much of a signature or token is right.

afterEach(() => vi.restoreAllMocks());

const answerOfWebCrypto = (answer: boolean) => vi.spyOn(crypto.subtle, 'verify').mockResolvedValue(answer);

describe.each(names)('a delivery from %s', (name) => {
  it('is refused if crypto.subtle.verify says no, although its signature or token is right', async () => {
    const sent = deliver(name);
    answerOfWebCrypto(false);
    expect(await check(name, sent)).toEqual({ outcome: 'refused', reason: 'signature mismatch' });
  });

  it('is verified if crypto.subtle.verify says yes, although its signature or token is wrong', async () => {
    const [spot] = signatureSpots(name, deliver(name));
    // In the first number of a DER signature, too, this leaves the form as it is. A text in no form at all is refused
    // before it is compared.
    const { length = 0 } = spot?.value ?? {};
    // Of a token, the last part is the signature.
    const at = spot?.value.split('.').length === 3 ? length - 20 : Math.floor(length / 4);
    const wrong = spot?.put(spot.value.slice(0, at) + (spot.value[at] === '0' ? '1' : '0') + spot.value.slice(at + 1));
    if (!wrong) throw new Error(name);
    answerOfWebCrypto(true);
    expect(await check(name, wrong)).toMatchObject({ outcome: 'verified' });
  });
});
