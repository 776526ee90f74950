import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { accepted, documented, refused } from './batch-bodies.ts';
import type { Measured } from './batch-memory.ts';

/** A process whose heap is limited dies when it needs more. The garbage of young objects is collected early. */
function receive(heapMib: number, ...what: readonly string[]): Record<string, Measured> {
  const flags = [`--max-old-space-size=${heapMib}`, '--max-semi-space-size=1'];
  const script = 'engine/test/receiver/providers/batch-memory.ts';
  const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, script, ...what], { encoding: 'utf8' });
  expect(status, `needs more than ${heapMib} MiB: ${stderr.trim().slice(0, 400)}`).toBe(0);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

describe('within 64 MiB, half of what an isolate has', () => {
  // Node's own 10 MiB are inside it. One after another, in one process.
  const measured = receive(64, 'all');

  it.each(Object.entries({ ...documented, ...accepted }))(
    'a batch of %s is accepted within 3 seconds of CPU time, and its claim grows no faster than its body',
    (what, { events }) => {
      const { status, cpuMs, bodyLength, requestBytes, lines } = measured[what] as Measured;
      expect(status).toBe(200);
      expect(lines.map((line) => line.events)).toEqual([events]);
      expect(cpuMs).toBeLessThan(3000);
      // The statement itself has about 3,000 bytes. Small items grow most: by their envelopes and by escapes.
      expect(requestBytes).toBeLessThan(5 * bodyLength + 10_000);
    },
  );

  it.each(Object.entries(refused))('a batch of %s is answered 400, and the log says why', (what, { reason }) => {
    const { status, requestBytes, lines } = measured[what] as Measured;
    expect([status, requestBytes]).toEqual([400, 0]);
    expect(lines).toMatchObject([{ outcome: 'unclaimable', reason }]);
  });
});

it.each(['answers', 'hangs'])(
  'the largest batch that the limits allow leaves room in an isolate of 128 MiB if Postgres %s',
  (neon) => {
    const { largest } = receive(96, 'largest', neon);
    expect(largest?.status).toBe(200);
    expect(largest?.requestBytes).toBeGreaterThan(5 * 1024 * 1024);
  },
);
