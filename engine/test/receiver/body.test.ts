import { expect, it, vi } from 'vitest';
import { type Body, BodyBudget, readBody } from '../../src/receiver/body.ts';

/** 20 MiB in blocks of 4 KiB. */
const BLOCKS = 5120;
const DEADLINE_MS = 20_000;

/** A body whose first byte has arrived. `announced` is what its sender says of its length. */
function begin(
  budget: BodyBudget,
  { announced, deadlineMs = DEADLINE_MS, cancel }: { announced?: number; deadlineMs?: number; cancel: () => void },
): { body: Promise<Body>; hangUp: () => void } {
  let hangUp = () => {};
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(1));
      hangUp = () => controller.error(new Error('the connection was closed'));
    },
    cancel,
  });
  const headers = announced === undefined ? {} : { 'content-length': String(announced) };
  const init = { method: 'POST', headers, body: stream, duplex: 'half' };
  const request = new Request('https://example.com', init as RequestInit);
  return { body: readBody(request, 20_000, deadlineMs, budget), hangUp };
}

it.each([{ announced: 1000 }, {}])(
  'a body is charged a block of 4 KiB while it comes, and nothing any more if it does not come to its end in time: %o',
  async (length) => {
    const budget = new BodyBudget();
    const cancel = vi.fn();
    const waiting = Array.from({ length: BLOCKS }, () => begin(budget, { ...length, deadlineMs: 500, cancel }));
    expect(await begin(budget, { ...length, cancel }).body).toEqual({ outcome: 'overloaded' });
    waiting[0]?.hangUp();
    for (const [n, { body }] of waiting.entries()) {
      expect(await body).toEqual({ outcome: n === 0 ? 'hung_up' : 'too_slow' });
    }
    expect(budget.take(BLOCKS * 4096)).toBe(true);
    // All but the one that hung up. What still comes of the small ones is at most a block.
    if (!('announced' in length)) expect(cancel).toHaveBeenCalledTimes(BLOCKS);
  },
);

it('one tenant is given a tenth of the budget, or the largest body of its source, and others what is left', () => {
  const budget = new BodyBudget();
  const tenth = (BLOCKS * 4096) / 10;
  const acme = () => budget.ofTenant('code/acme', 1000);
  expect([acme().take(tenth - 1), acme().take(1), acme().take(1)]).toEqual([true, true, false]);
  // Under another name, or of a source with larger bodies, it is another tenant.
  expect(budget.ofTenant('code/globex', 1000).take(tenth)).toBe(true);
  const large = budget.ofTenant('docs/acme', 5_000_000);
  expect([large.take(1221 * 4096), large.take(1)]).toEqual([true, false]);
  acme().giveBack(1);
  expect([acme().take(2), acme().take(1)]).toEqual([false, true]);
  // What is refused is not counted, and what is given back is free for everybody.
  acme().giveBack(tenth);
  budget.giveBack(tenth + 1221 * 4096);
  expect([budget.take(BLOCKS * 4096), acme().take(1)]).toEqual([true, false]);
});

it.each([
  [1, 1],
  [4096, 1],
  [4097, 2],
  [8192, 2],
  [20_000, 5],
])('a body of %i bytes is charged %i blocks, whether its length is announced or not', async (length, blocks) => {
  const sent = Uint8Array.from({ length }, (_, n) => n % 251);
  for (const headers of [{}, { 'content-length': String(length) }]) {
    // In pieces that end anywhere.
    const body = new ReadableStream({
      start(controller) {
        for (let at = 0; at < length; at += 1500) controller.enqueue(sent.slice(at, at + 1500));
        controller.close();
      },
    });
    const init = { method: 'POST', headers, body, duplex: 'half' };
    const request = new Request('https://example.com', init as RequestInit);
    const read = await readBody(request, 20_000, DEADLINE_MS, new BodyBudget());
    expect(read).toEqual({ outcome: 'read', bytes: sent, held: blocks * 4096 });
  }
});
