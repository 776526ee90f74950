import { expect, it } from 'vitest';
import { measure, type Ratio } from '../aims.ts';
import type { Results } from '../results.ts';

const figure = (variant: string, metric = 'deliveries/s') => ({ row: 'ack', variant, metric });
const ratio: Ratio = { title: 'to the floor', of: figure('ours'), to: figure('floor'), aim: { atLeast: 0.9 } };

function resultsWith(values: Readonly<Record<string, number[]>>, metric?: string): Results {
  const rows = Object.entries(values).map(([variant, all]) => ({ ...figure(variant, metric), values: all }));
  return {
    machine: { cores: 2, cpu: 'a CPU', memoryGiB: 4, system: 'linux x64' },
    versions: {},
    parts: { ack: { measured: '2026-11-18', rows } },
  };
}

it('a rate is the total of deliveries divided by the total of seconds, so a slow round counts fully', () => {
  // 100 deliveries each: 1 s and 4 s are 40 a second.
  const results = resultsWith({ ours: [100, 25], floor: [50, 50] });
  expect(measure(ratio, results)).toMatchObject({ value: 0.8, met: false });
});

it('a cost is the mean of the rounds, and a percentile their median', () => {
  const of = (metric: string): Ratio => ({ title: '', of: figure('ours', metric) });
  const values = { ours: [1, 1, 10] };
  expect(measure(of('CPU ms per delivery'), resultsWith(values, 'CPU ms per delivery'))?.value).toBe(4);
  expect(measure(of('p50 ms'), resultsWith(values, 'p50 ms'))?.value).toBe(1);
});

it('a difference that equal contenders also have in the same rounds counts as chance', () => {
  const chance = { of: figure('floor again'), to: figure('floor') };
  const withAgain = (again: number) => resultsWith({ ours: [95], floor: [100], 'floor again': [again] });
  expect(measure({ ...ratio, chance }, withAgain(80))?.isChance).toBe(true);
  expect(measure({ ...ratio, chance }, withAgain(99))?.isChance).toBe(false);
});

it('an aim of "at most" is met by a smaller ratio, and a ratio without an aim is neither met nor missed', () => {
  const { aim, ...without } = ratio;
  const results = resultsWith({ ours: [80], floor: [100] });
  expect(measure({ ...without, aim: { atMost: 0.9 } }, results)?.met).toBe(true);
  expect(measure({ ...without, aim: { atMost: 0.7 } }, results)?.met).toBe(false);
  expect(measure(without, results)?.met).toBeUndefined();
});

it('a ratio whose figures were not measured is left out', () => {
  expect(measure({ ...ratio, to: figure('somebody') }, resultsWith({ ours: [1] }))).toBeUndefined();
});
