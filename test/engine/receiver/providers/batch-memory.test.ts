import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { accepted, documented, largest, refused } from './batch-bodies.ts';

interface Measured {
  readonly status: number;
  readonly cpuMs: number;
  readonly requestBytes: number;
  readonly lines: { readonly events?: number; readonly outcome?: string; readonly reason?: string }[];
}

/** Half of what an isolate has. Node's own 10 MiB are inside it. */
const HEAP_MIB = 64;

/** A process whose heap is limited dies when it needs more. The garbage of young objects is collected early. */
function receive(provider: string, body: string, heapMib = HEAP_MIB, neon = 'answers'): Measured {
  const flags = [`--max-old-space-size=${heapMib}`, '--max-semi-space-size=1'];
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [...flags, 'test/engine/receiver/providers/batch-memory.ts', provider, neon],
    { input: body, encoding: 'utf8' },
  );
  expect(status, `needs more than ${heapMib} MiB: ${stderr.trim().slice(0, 400)}`).toBe(0);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

describe.each(Object.entries({ ...documented, ...accepted }))('a batch of %s', (_what, { provider, events, make }) => {
  it('is accepted within 64 MiB and 3 seconds of CPU time, and its claim grows no faster than its body', () => {
    const body = make();
    const { status, cpuMs, requestBytes, lines } = receive(provider, body);
    expect(status).toBe(200);
    expect(lines.map((line) => line.events)).toEqual([events]);
    expect(cpuMs).toBeLessThan(3000);
    // The statement itself has about 3,000 bytes. Small items grow most: by their envelopes and by escapes.
    expect(requestBytes).toBeLessThan(5 * body.length + 10_000);
  });
});

describe.each(Object.entries(refused))('a batch of %s', (_what, { provider, reason, make }) => {
  it('is answered 400 within 64 MiB, and the log says why', () => {
    const { status, requestBytes, lines } = receive(provider, make());
    expect(status).toBe(400);
    expect(requestBytes).toBe(0);
    expect(lines).toMatchObject([{ outcome: 'unclaimable', reason }]);
  });
});

it.each(['answers', 'hangs'])(
  'the largest batch that the limits allow leaves room in an isolate of 128 MiB if Postgres %s',
  (neon) => {
    const { status, requestBytes } = receive(largest.provider, largest.make(), 96, neon);
    expect(status).toBe(200);
    expect(requestBytes).toBeGreaterThan(5 * 1024 * 1024);
  },
);
