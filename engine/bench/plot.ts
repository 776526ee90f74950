import { writeFileSync } from 'node:fs';
import { type Results, valuesOf } from './results.ts';
import { DISTANCES, overall, waitRow } from './rows.ts';

const FILE = 'docs/images/wait.svg';

/** In the order of the legend. A class is a colour. */
const LINES = [
  { variant: 'Express on Node, does the work', title: 'Express: the work, then the 200', class: 'slow' },
  { variant: 'claimcheck', title: 'Claimcheck', class: 'ours' },
  { variant: 'Hono on Node, stores the event', title: 'Hono on Node: stores it', class: 'node' },
  {
    variant: "Cloudflare's example, queues the event",
    title: "Cloudflare's example: queues it, asks no database",
    class: 'flat',
  },
] as const;

const WIDTH = 720;
const HEIGHT = 400;
const STEP = 200;
const AREA = { left: 56, right: 690, top: 24, bottom: 352 };

/** The wait for a 200 by the distance to Postgres: the slope of a line is its number of round trips. None if it wasn't measured. */
export function writePlot(results: Results): void {
  const series = LINES.map((line) => ({
    ...line,
    values: DISTANCES.map((ms) => {
      const values = valuesOf(results, { row: waitRow(ms), variant: line.variant, metric: 'p50 ms' });
      return values ? overall('p50 ms', values) : Number.NaN;
    }),
  }));
  const highest = Math.ceil(Math.max(...series.flatMap(({ values }) => values)) / STEP) * STEP;
  if (!Number.isFinite(highest)) return;
  const farthest = DISTANCES.at(-1) ?? 0;
  const x = (ms: number) => Math.round(AREA.left + ((AREA.right - AREA.left) * ms) / farthest);
  const y = (ms: number) => Math.round(AREA.bottom - ((AREA.bottom - AREA.top) * ms) / highest);
  const ticks = Array.from({ length: highest / STEP + 1 }, (_, n) => n * STEP);
  const plot = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="title">
<title id="title">Median wait for the 200, by the distance to Postgres</title>
<style>
text { font: 13px system-ui, sans-serif; fill: #57606a }
.axis { stroke: #d0d7de }
polyline { fill: none; stroke-width: 2.5 }
.ours { stroke: #0969da } .node { stroke: #1a7f37; stroke-dasharray: 8 6 }
.slow { stroke: #cf222e } .flat { stroke: #9a6700 }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1 }
  .axis { stroke: #3d444d }
  .ours { stroke: #4493f8 } .node { stroke: #3fb950 } .slow { stroke: #f85149 } .flat { stroke: #d29922 }
}
</style>
${ticks.map((ms) => `<path class="axis" d="M${AREA.left} ${y(ms)}H${AREA.right}"/><text x="${AREA.left - 8}" y="${y(ms) + 4}" text-anchor="end">${ms}</text>`).join('\n')}
${DISTANCES.slice(1)
  .map((ms) => `<text x="${x(ms)}" y="${AREA.bottom + 20}" text-anchor="middle">${ms} ms</text>`)
  .join('\n')}
<text x="${AREA.left}" y="14">ms until the 200 (p50)</text>
<text x="${AREA.right}" y="${HEIGHT - 8}" text-anchor="end">to Postgres and back</text>
${series.map((line) => `<polyline class="${line.class}" points="${line.values.map((ms, n) => `${x(DISTANCES[n] ?? 0)},${y(ms)}`).join(' ')}"/>`).join('\n')}
${series.map((line, n) => legendLine(line.class, line.title, n)).join('\n')}
</svg>
`;
  writeFileSync(FILE, plot);
}

function legendLine(color: string, title: string, n: number): string {
  const top = AREA.top + 24 + n * 22;
  const left = AREA.left + 24;
  return `<polyline class="${color}" points="${left},${top} ${left + 32},${top}"/><text x="${left + 42}" y="${top + 4}">${title}</text>`;
}
