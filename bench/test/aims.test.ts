import { expect, it } from 'vitest';
import { measure, type Ratio } from '../aims.ts';
import type { Results } from '../results.ts';

const figure = (variant: string) => ({ row: 'ack', variant, metric: 'deliveries/s' });
const ratio: Ratio = { title: 'to the floor', of: figure('ours'), to: figure('floor'), aim: { atLeast: 0.9 } };

function resultsWith(ours: number[], floor: number[]): Results {
  const rows = [
    { ...figure('ours'), values: ours },
    { ...figure('floor'), values: floor },
  ];
  return {
    machine: { cores: 2, cpu: 'a CPU', memoryGiB: 4, system: 'linux x64' },
    versions: {},
    parts: { ack: { measured: '2026-11-18', rows } },
  };
}

it('a ratio divides the figures of the same round, and is judged by the median of the rounds', () => {
  // The machine was three times as fast in the last round.
  expect(measure(ratio, resultsWith([95, 80, 300], [100, 100, 300]))).toEqual({
    title: 'to the floor',
    aim: 'at least 0.9',
    median: 0.95,
    lowest: 0.8,
    highest: 1,
    rounds: 3,
    met: true,
  });
  expect(measure(ratio, resultsWith([85, 80, 300], [100, 100, 300]))?.met).toBe(false);
});

it('an aim of "at most" is met by a smaller ratio, and a ratio without an aim is neither met nor missed', () => {
  const { aim, ...without } = ratio;
  expect(measure({ ...without, aim: { atMost: 0.9 } }, resultsWith([80], [100]))?.met).toBe(true);
  expect(measure({ ...without, aim: { atMost: 0.9 } }, resultsWith([95], [100]))?.met).toBe(false);
  expect(measure(without, resultsWith([80], [100]))?.met).toBeUndefined();
});

it('a ratio whose figures were not measured is left out', () => {
  expect(measure({ ...ratio, to: figure('somebody') }, resultsWith([1], [1]))).toBeUndefined();
});
