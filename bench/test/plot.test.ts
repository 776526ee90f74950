import { expect, it } from 'vitest';
import { svgOf } from '../plot.ts';

const plot = {
  title: 'The ack <at> a distance',
  x: 'ms to Postgres',
  y: 'p50 ms',
  lines: [{ name: 'claimcheck', points: [[1, 3] as const, [80, 84] as const] }],
};

it('a plot has an axis of round numbers that holds every point', () => {
  const svg = svgOf(plot, 'light');
  expect(svg).toContain('>20</text>');
  expect(svg).toContain('>100</text>');
  expect(svg).not.toContain('>120</text>');
  for (const [, x, y] of svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)) {
    expect(Number(x)).toBeLessThanOrEqual(616);
    expect(Number(y)).toBeGreaterThanOrEqual(44);
  }
  expect(svg).toContain('The ack &lt;at> a distance');
});

it('the plot for a dark page has other colours', () => {
  expect(svgOf(plot, 'dark')).not.toBe(svgOf(plot, 'light'));
  expect(svgOf(plot, 'dark')).not.toContain('#1f2328');
});
