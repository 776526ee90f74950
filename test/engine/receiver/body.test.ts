import { expect, it } from 'vitest';
import { type Body, BodyBudget, readBody } from '../../../src/receiver/body.ts';

/** 20 MiB in blocks of 4 KiB. */
const BLOCKS = 5120;
const DEADLINE_MS = 20_000;

/** A body whose first byte has arrived. */
function begin(budget: BodyBudget): { body: Promise<Body>; end: () => void } {
  let end = () => {};
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(1));
      end = () => controller.close();
    },
  });
  const request = new Request('https://example.com', { method: 'POST', body: stream, duplex: 'half' } as RequestInit);
  return { body: readBody(request, 1000, DEADLINE_MS, budget), end };
}

it('a one-byte body is charged a full 4 KiB block until it is given back', async () => {
  const budget = new BodyBudget();
  const waiting = Array.from({ length: BLOCKS }, () => begin(budget));
  expect(await begin(budget).body).toEqual({ outcome: 'overloaded' });
  for (const { end } of waiting) end();
  for (const { body } of waiting) {
    const read = await body;
    if (read.outcome !== 'read') throw new Error(`a body was not read: ${read.outcome}`);
    expect(read.bytes).toHaveLength(1);
    budget.giveBack(read.held);
  }
  expect(budget.take(BLOCKS * 4096)).toBe(true);
});
