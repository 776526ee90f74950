import { counted } from './parts.tsx';

const [WIDTH, HEIGHT] = [10, 40];

/** Numbers per hour as bars. A reader who doesn't see it gets the same in a sentence. */
export function Chart({ perHour, what }: { perHour: readonly number[]; what: string }) {
  const most = Math.max(...perHour);
  const total = perHour.reduce((sum, count) => sum + count, 0);
  const label = `${counted(total, what)} in the last 24 hours, at most ${most} in an hour, ${perHour.at(-1) ?? 0} in the last hour`;
  return (
    <svg
      class="chart"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${perHour.length * WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
    >
      <title>{label}</title>
      {perHour.map((count, hour) => {
        // An hour with a single event must not look like an hour without any.
        const height = count === 0 ? 1 : Math.max(3, Math.round((count / most) * HEIGHT));
        return (
          <rect
            class={count === 0 ? 'none' : undefined}
            x={hour * WIDTH}
            y={HEIGHT - height}
            width={WIDTH - 2}
            height={height}
          />
        );
      })}
    </svg>
  );
}
