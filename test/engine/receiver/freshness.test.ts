import { expect, it } from 'vitest';
import { createReceiver } from '../../../src/receiver/receive.ts';
import type { LogLine } from '../../../src/shared/log.ts';
import { learn, search } from '../canaries/canaries.ts';
import { sources } from '../fixture/sources.ts';
import { signers } from '../signatures.ts';

const SIGNED_AT = new Date('2026-03-01T12:00:00Z');
const secret = 'the secret of these tests';
learn('secret', secret);
const text = '{"id":"evt_1","type":"charge.succeeded"}';

/** Delivers an event whose second half arrives some seconds after the first one. */
async function deliver(seconds: number): Promise<{ status: number; lines: LogLine[] }> {
  let now = SIGNED_AT;
  const lines: LogLine[] = [];
  const receiver = createReceiver({ sources, now: () => now, log: (line) => lines.push(line) });
  const halves = [text.slice(0, 20), text.slice(20)];
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const half = halves.shift();
      if (half === undefined) return controller.close();
      if (halves.length === 0) now = new Date(SIGNED_AT.getTime() + seconds * 1000);
      controller.enqueue(new TextEncoder().encode(half));
    },
  });
  const { headers } = await signers.stripe(text, { secret, now: SIGNED_AT });
  const request = new Request('https://example.com/webhooks/stripe', {
    method: 'POST',
    headers,
    body,
    duplex: 'half',
  } as RequestInit);
  // Nothing listens at this port, and what is verified goes on the queue.
  const DATABASE_URL = 'postgres://user:password@127.0.0.1:1/database';
  const env = { DATABASE_URL, STRIPE_WEBHOOK_SECRET: secret, EVENTS: { send: async () => undefined } };
  const { status } = await receiver.fetch(request, env as unknown as Env);
  search(JSON.stringify(lines), 'the log of the receiver');
  return { status, lines };
}

it('a delivery that becomes stale while its body is read is refused', async () => {
  const { status, lines } = await deliver(301);
  expect(status).toBe(401);
  expect(lines).toEqual([
    expect.objectContaining({
      step: 'delivery',
      outcome: 'refused',
      reason: 'timestamp outside the window',
      seconds_off: 301,
    }),
  ]);
});

it('a delivery that is still fresh when its body is complete is accepted, however long it was on its way', async () => {
  const { status, lines } = await deliver(300);
  expect(status).toBe(200);
  expect(lines.at(-1)).toMatchObject({ outcome: 'accepted', forwarded: true, ms: 300_000 });
});
