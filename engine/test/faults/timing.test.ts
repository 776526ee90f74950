import { Agent, request } from 'node:http';
import { expect, it } from 'vitest';
import { usePlainWorkerd } from '../plain-workerd.ts';
import { isLong, report, seed } from './form.ts';
import { randomFrom } from './random.ts';
import { COMPARISONS, type Comparison } from './timing-worker.ts';

const workerd = usePlainWorkerd('engine/test/faults/timing-worker.ts');
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** A request computes for about a millisecond then, so that few are interrupted, and its own work is a small part. */
const TIMES = isLong ? 200 : 10;

/** What is measured in every round: the same comparison with another byte wrong. */
const MEASURED: readonly { readonly of: Comparison; readonly bytes: readonly [number, number] }[] = [
  { of: 'signature', bytes: [0, 31] },
  { of: 'token', bytes: [0, 31] },
  { of: 'byte by byte', bytes: [0, 31] },
  // The control: the measurement goes on until it would see this difference in all of them.
  { of: 'byte by byte', bytes: [0, 1] },
];

/** Rounds between two looks at the control. */
const ROUNDS = isLong ? 1000 : 2;
/** About twenty minutes on a quiet machine. One that needs more is too busy to measure this. */
const MAX_ROUNDS = isLong ? 60_000 : ROUNDS;

/** Usual for such measurements: without a true difference, 7 of a million numbers are further away from zero. */
const STANDARD_ERRORS = 4.5;

/** The slower half of the requests was disturbed most by something else. */
const KEPT = 0.5;

/** Compares a wrong one `TIMES` times. Returns the nanoseconds that one comparison took. */
async function measure(comparison: Comparison, wrong: number): Promise<number> {
  const before = workerd.computed();
  const same = await compare(comparison, wrong, TIMES);
  const after = workerd.computed();
  if (same) throw new Error(`${comparison}: a wrong byte ${wrong} was accepted`);
  return (after - before) / TIMES;
}

function compare(comparison: Comparison, wrong: number, times: number): Promise<boolean> {
  const path = `/?${new URLSearchParams({ comparison, wrong: String(wrong), times: String(times) })}`;
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: workerd.port, path, agent }, (answer) => {
      let text = '';
      answer.on('data', (chunk) => (text += chunk));
      answer.on('end', () => resolve(text === 'true'));
    });
    sent.on('error', reject).end();
  });
}

interface Difference {
  readonly mean: number;
  readonly error: number;
}

/** How much longer it takes if the later byte is wrong, and the standard error of that number. */
function differenceIn(rounds: readonly (readonly [number, number])[]): Difference {
  const sorted = rounds.toSorted(([a, b], [c, d]) => a + b - c - d);
  const kept = sorted.slice(0, Math.ceil(rounds.length * KEPT)).map(([earlier, later]) => later - earlier);
  const mean = kept.reduce((sum, one) => sum + one, 0) / kept.length;
  const variance = kept.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (kept.length - 1);
  return { mean, error: Math.sqrt(variance / kept.length) };
}

const isSeen = ({ mean, error }: Difference) => Math.abs(mean) > STANDARD_ERRORS * error;

/** Whether the control is seen, and a difference of the same size would be seen everywhere. */
function isPrecise(differences: readonly Difference[]): boolean {
  const control = differences.at(-1);
  return control !== undefined && differences.every(({ error }) => isSeen({ mean: control.mean, error }));
}

it('a wrong last byte of a signature or token takes as long as a wrong first one', { timeout: 7_200_000 }, async () => {
  const random = randomFrom(seed);
  const rounds = MEASURED.map((): [number, number][] => []);
  const differences = () => rounds.map(differenceIn);
  do {
    for (let round = 0; round < ROUNDS; round++) {
      for (const [n, { of, bytes }] of MEASURED.entries()) {
        // In random order, so that whatever a request does to the next one happens to both.
        const swapped = random() < 0.5;
        const one = await measure(of, bytes[swapped ? 1 : 0]);
        const other = await measure(of, bytes[swapped ? 0 : 1]);
        rounds[n]?.push(swapped ? [other, one] : [one, other]);
      }
    }
  } while ((rounds[0]?.length ?? 0) < MAX_ROUNDS && !isPrecise(differences()));
  // The short form only shows that the measurement works.
  if (!isLong) return;

  const found = differences();
  const numbers = found.map(({ mean, error }) => `${mean.toFixed(2)} ± ${error.toFixed(2)} ns`).join(', ');
  expect(found.map(isSeen), numbers).toEqual([false, false, true, true]);
  for (const [n, { of, bytes }] of MEASURED.entries()) {
    const { mean, error } = found[n] ?? { mean: 0, error: 0 };
    report('timing', {
      compared: of,
      'wrong byte': `${bytes[0] + 1} or ${bytes[1] + 1}`,
      comparisons: 2 * TIMES * (rounds[n]?.length ?? 0),
      'difference (ns)': mean.toFixed(2),
      'standard error (ns)': error.toFixed(2),
      visible: isSeen({ mean, error }) ? 'yes' : 'no',
    });
  }
});

it.each(COMPARISONS)('the right one is accepted when it is compared as %s', async (comparison) => {
  const nothingWrong = 32;
  expect(await compare(comparison, nothingWrong, 1)).toBe(true);
});
