import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { madeUpKeys } from '../../cli/samples/sign.ts';
import {
  check,
  coversBody,
  deliver,
  NOW,
  names,
  providerOf,
  type Spot,
  signatureSpots,
  signedSpots,
  URL_TOLD,
  withBody,
  withHeaders,
} from './deliveries.ts';

const verified = { outcome: 'verified' };
const refused = { outcome: 'refused' };

/** A fixed seed, so that a failure can be repeated. The number of runs is for each property and provider. */
const runs = (numRuns: number) => ({ seed: 20_260_301, numRuns, includeErrorInReport: true });

/** Replaces each character in turn with another printable one. */
async function refusesEveryFlip(name: string, { value, put }: Spot): Promise<void> {
  const other = fc.integer({ min: 1, max: 93 });
  const shifts = fc.array(other, { minLength: value.length, maxLength: value.length });
  await fc.assert(
    fc.asyncProperty(shifts, async (by) => {
      for (let at = 0; at < value.length; at++) {
        const flipped = String.fromCharCode(33 + ((value.charCodeAt(at) - 33 + (by[at] ?? 1)) % 94));
        const changed = put(value.slice(0, at) + flipped + value.slice(at + 1));
        expect(await check(name, changed), `${flipped} at ${at} of ${value}`).toMatchObject(refused);
      }
    }),
    runs(1),
  );
}

const sorted = (text: string) => [...new URLSearchParams(text)].map(String).sort().join('&');

describe.each(names)('%s', (name) => {
  const provider = providerOf(name);
  const { scheme } = provider;
  const timestamp = scheme.token !== undefined ? undefined : scheme.timestamp;
  const sent = deliver(name);
  const spots = signatureSpots(name, sent);

  it('refuses every changed character in its signature or token', async () => {
    expect(spots.length).toBeGreaterThan(0);
    for (const spot of spots) await refusesEveryFlip(name, spot);
  });

  it('refuses every changed character in the signed timestamp, id and fields', async () => {
    for (const spot of signedSpots(name, sent)) await refusesEveryFlip(name, spot);
  });

  it('signs its id if and only if its data says so', () => {
    const ids = [provider.id.at].flat().flatMap((at) => Array.from(at.matchAll(/\{(header:[^}]+)\}/g), ([, id]) => id));
    const covered = signedSpots(name, sent).map(({ place }) => place);
    if (provider.id.signed) expect(ids.filter((id) => !covered.some((place) => place === id))).toEqual([]);
    else expect(ids.length > 0 || !coversBody(name) || provider.id.bodiesRepeat).toBe(true);
  });

  if (coversBody(name))
    it('refuses any flipped bit in its body, and random bytes instead of the body', async () => {
      const bit = fc.tuple(fc.nat({ max: sent.body.length - 1 }), fc.nat({ max: 7 }));
      await fc.assert(
        fc.asyncProperty(bit, fc.uint8Array({ maxLength: 200 }), async ([at, by], bytes) => {
          const body = Uint8Array.from(sent.body);
          body[at] = (body[at] ?? 0) ^ (1 << by);
          // Twilio signs the decoded fields, so %2B and %2b are the same.
          const isSame = provider.form && sorted(new TextDecoder().decode(body)) === sorted(sent.text);
          expect(await check(name, { ...sent, body })).toMatchObject(isSame ? verified : refused);
          expect(await check(name, { ...sent, body: Uint8Array.from(bytes) })).toMatchObject(refused);
        }),
        runs(20),
      );
    });

  if (timestamp)
    it('accepts times exactly up to its window in both directions, and says by how many seconds others are off', async () => {
      const window = timestamp.windowSeconds;
      const at = (offset: number) => check(name, sent, undefined, new Date(NOW.getTime() + offset * 1000));
      for (const side of [-1, 1]) {
        expect(await at(side * window)).toMatchObject(verified);
        const secondsOff = side * (window + 1);
        expect(await at(secondsOff)).toEqual({ ...refused, reason: 'timestamp outside the window', secondsOff });
      }
      // A time in seconds stands for the whole second.
      expect(await at(window + 0.999)).toMatchObject(verified);
    });

  it('refuses a wrong key, an empty key and no key, and accepts the right key after them', async () => {
    const other = madeUpKeys(provider).secret;
    expect(await check(name, sent, [other])).toEqual({ outcome: 'refused', reason: 'signature mismatch' });
    expect(await check(name, sent, [''])).toEqual({ outcome: 'refused', reason: 'no secret' });
    expect(await check(name, sent, [])).toEqual({ outcome: 'refused', reason: 'no secret' });
    expect(await check(name, sent, ['', other, sent.keys.secret])).toEqual({ outcome: 'verified', secretIndex: 2 });
  });

  it('refuses a header sent twice, unless it is a list', async () => {
    for (const spot of [...spots, ...signedSpots(name, sent)]) {
      const [, header, key] = /^header:([^#]+)(#.*)?$/.exec(spot.place) ?? [];
      if (!header) continue;
      const value = sent.headers.get(header);
      const twice = withHeaders(sent, { [header]: `${value}, ${value}` });
      const isSignature = spots.includes(spot);
      expect(await check(name, twice), header).toMatchObject(
        key && isSignature && !timedIn(header) ? verified : refused,
      );
    }

    function timedIn(header: string): boolean {
      return timestamp?.at.startsWith(`header:${header}#`) ?? false;
    }
  });

  it('refuses white space in a signature and any other text instead of it, and never throws', async () => {
    const printable = fc.string({ unit: fc.integer({ min: 32, max: 126 }).map((code) => String.fromCharCode(code)) });
    await fc.assert(
      fc.asyncProperty(printable, fc.constantFrom(' ', '\t'), fc.nat(), async (text, blank, position) => {
        for (const { value, put } of spots) {
          const at = 1 + (position % (value.length - 1));
          for (const wrong of [text, blank, '', value.slice(0, at) + blank + value.slice(at)]) {
            expect(await check(name, put(wrong)), wrong).toMatchObject(refused);
          }
        }
      }),
      runs(10),
    );
  });

  it('refuses a delivery that lacks a signed header or a signature header, and says which one', async () => {
    for (const { place } of [...spots, ...signedSpots(name, sent)]) {
      const [, header] = /^header:([^#]+)/.exec(place) ?? [];
      if (!header) continue;
      const headers = new Headers(sent.headers);
      headers.delete(header);
      // The signed headers that a delivery lists itself are not places of its provider's data.
      const isListed =
        !place.includes('#') &&
        scheme.token === undefined &&
        scheme.check === undefined &&
        typeof scheme.signed !== 'string';
      const missing = isListed && !spots.some((spot) => spot.place === place) ? '' : `header:${header}`;
      expect(await check(name, { ...sent, headers }), header).toMatchObject({
        ...refused,
        missing: expect.stringContaining(missing),
      });
    }
  });
});

it('a signed body from Linear without its time is refused, and the log says what is missing', async () => {
  const refusal = { outcome: 'refused', reason: 'timestamp malformed', missing: 'json:webhookTimestamp' };
  expect(await check('linear', deliver('linear', { body: '{"type":"Issue"}' }))).toEqual(refusal);
});

it('a token that is sent twice is refused even if the first one is right, and an empty token never matches', async () => {
  const sent = deliver('mollie-classic');
  const verdict = await check('mollie-classic', { ...sent, url: `${sent.url}&token=another` });
  expect(verdict).toEqual({ outcome: 'refused', reason: 'signature malformed' });
  const [empty] = signatureSpots('mollie-classic', sent).map(({ put }) => put(''));
  expect(empty && (await check('mollie-classic', empty, ['', sent.keys.secret]))).toMatchObject(refused);
});

it('a hash in a signed URL is refused if it belongs to another body or occurs twice', async () => {
  const body = '{"MessageSid":"SM1"}';
  const hash = `bodySHA256=${createHash('sha256').update(body).digest('hex')}`;
  const withHashes = (query: string) => deliver('twilio', { body, url: `${URL_TOLD}?${query}` });
  expect(await check('twilio', withHashes(hash))).toMatchObject(verified);
  for (const wrong of [withBody(withHashes(hash), `${body} `), withHashes(`${hash}&${hash}`)]) {
    expect(await check('twilio', wrong)).toEqual({ outcome: 'refused', reason: 'signature mismatch' });
  }
});

it('every item from Microsoft Graph must contain the right token', async () => {
  const deliverWith = (...states: (string | undefined)[]) => {
    const value = states.map((clientState) => ({ clientState, changeType: 'updated' }));
    return deliver('microsoft-graph', { body: JSON.stringify({ value }) });
  };
  const reasonOf = async (...states: (string | undefined)[]) => check('microsoft-graph', deliverWith(...states));
  expect(await reasonOf('{token}', '{token}')).toMatchObject(verified);
  expect(await reasonOf('{token}', 'wrong')).toMatchObject({ reason: 'signature mismatch' });
  expect(await reasonOf('wrong', '{token}')).toMatchObject({ reason: 'signature mismatch' });
  expect(await reasonOf('{token}', undefined)).toMatchObject({ reason: 'signature missing' });
  expect(await reasonOf()).toMatchObject({ reason: 'signature missing' });
});

/** Nothing separates them, so another split has the same signature. */
it('Twitch’s id, time and body are accepted only if they are split correctly', async () => {
  const sent = deliver('twitch');
  const id = 'twitch-eventsub-message-id';
  const time = 'twitch-eventsub-message-timestamp';
  const [first, second] = [id, time].map((name) => sent.headers.get(name) ?? '');
  const text = `${first}${second}${sent.text}`;
  const ends = [first?.length ?? 0, (first?.length ?? 0) + (second?.length ?? 0)];
  for (let one = -6; one <= 6; one++) {
    for (let two = -6; two <= 6; two++) {
      const [from, to] = [(ends[0] ?? 0) + one, (ends[1] ?? 0) + two];
      const split = withBody(
        withHeaders(sent, { [id]: text.slice(0, from), [time]: text.slice(from, to) }),
        text.slice(to),
      );
      const expected = one === 0 && two === 0 ? verified : refused;
      expect(await check('twitch', split), `${one}, ${two}`).toMatchObject(expected);
    }
  }
});
