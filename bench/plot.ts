/** Lines over a common x axis. Both axes begin at 0. */
export interface Plot {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly lines: readonly { readonly name: string; readonly points: readonly (readonly [number, number])[] }[];
}

export type Theme = 'light' | 'dark';

/** The colours of GitHub's pages, so that a plot looks like a part of one. The lines differ in lightness, too. */
const COLOURS = {
  light: { ink: '#1f2328', grid: '#d1d9e0', lines: ['#0969da', '#8250df', '#9a6700'] },
  dark: { ink: '#f0f6fc', grid: '#3d444d', lines: ['#4493f8', '#ab7df8', '#d29922'] },
} as const;

const WIDTH = 640;
const HEIGHT = 360;
const BOX = { left: 64, right: 616, top: 44, bottom: 304 };

/** How many lines a grid has at most: more would be closer than their numbers are high. */
const MAX_STEPS = 6;

/** The plot as SVG without a background, in the colours of a theme. */
export function svgOf({ title, x, y, lines }: Plot, theme: Theme): string {
  const { ink, grid, lines: colours } = COLOURS[theme];
  const points = lines.flatMap((line) => line.points);
  const xs = scale(points.map(([value]) => value));
  const ys = scale(points.map(([, value]) => value));
  const atX = (value: number) => round(BOX.left + ((BOX.right - BOX.left) * value) / xs.end);
  const atY = (value: number) => round(BOX.bottom - ((BOX.bottom - BOX.top) * value) / ys.end);
  const label = (left: number, top: number, text: string | number, more = '') =>
    `<text x="${left}" y="${top}" ${more}>${text}</text>`;
  const drawn = lines.map(({ name, points: own }, n) => {
    // Lines after the first are dashed, so that both can be seen where one covers the other.
    const stroke = `stroke="${colours[n % colours.length]}" stroke-width="2"${n > 0 ? ' stroke-dasharray="6 5"' : ''}`;
    const path = own.map(([left, top]) => `${atX(left)},${atY(top)}`).join(' ');
    const dots = own.map(
      ([left, top]) => `<circle cx="${atX(left)}" cy="${atY(top)}" r="3.5" fill="${colours[n % colours.length]}"/>`,
    );
    const height = BOX.top + 20 + 20 * n;
    const legend = [
      `<path d="M${BOX.left + 16} ${height}h28" ${stroke}/>`,
      label(BOX.left + 52, height + 4, escaped(name)),
    ];
    return [`<polyline points="${path}" fill="none" ${stroke}/>`, ...dots, ...legend].join('\n');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${escaped(title)}" font-family="system-ui, sans-serif" font-size="12" fill="${ink}">
${label(BOX.left, 22, escaped(title), 'font-size="14" font-weight="600"')}
${ys.steps.map((value) => `<path d="M${BOX.left} ${atY(value)}H${BOX.right}" stroke="${grid}"/>`).join('\n')}
${ys.steps.map((value) => label(BOX.left - 8, atY(value) + 4, value, 'text-anchor="end"')).join('\n')}
${xs.steps.map((value) => label(atX(value), BOX.bottom + 18, value, 'text-anchor="middle"')).join('\n')}
${label((BOX.left + BOX.right) / 2, BOX.bottom + 40, escaped(x), 'text-anchor="middle"')}
${label(0, 0, escaped(y), `text-anchor="middle" transform="translate(16 ${(BOX.top + BOX.bottom) / 2}) rotate(-90)"`)}
${drawn.join('\n')}
</svg>
`;
}

/** Steps of 1, 2 or 5 times a power of ten, from 0 to at least the largest value. */
function scale(values: readonly number[]): { end: number; steps: number[] } {
  const largest = Math.max(...values);
  const power = 10 ** Math.floor(Math.log10(largest / MAX_STEPS));
  const step = power * ([1, 2, 5].find((factor) => factor * power * MAX_STEPS >= largest) ?? 10);
  const count = Math.ceil(largest / step);
  const steps = Array.from({ length: count + 1 }, (_, n) => Number((n * step).toPrecision(6)));
  return { end: step * count, steps };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
