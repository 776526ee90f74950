declare global {
  /** Only in the bundle that `npm run deploy` makes. */
  var APP_LINES: string | undefined;
}

/**
 * Set by `npm run deploy` from the source map of this bundle: for each file of src the line of the bundle where it
 * begins, and then the line of the file for each line of the bundle, as the difference to the one before.
 * `src/handlers/order-paid.ts 812 3 1 1 2; …`. Cloudflare doesn't translate the stack that code sees itself.
 */
const LINES = globalThis.APP_LINES ?? '';

interface File {
  readonly path: string;
  readonly start: number;
  readonly steps: readonly number[];
}

let files: readonly File[] | undefined;

/** A `position` with the lines of src in place of the bundle's. Other frames stay as they are. */
export function inAppLines(position: string | undefined, lines = LINES): string | undefined {
  if (lines === '') return position;
  files ??= lines.split('; ').map((file) => {
    const [path = '', start, ...steps] = file.split(' ');
    return { path, start: Number(start), steps: steps.map(Number) };
  });
  return position?.replaceAll(/[\w.-]+\.js:(\d+):\d+/g, (frame, line: string) => {
    const file = files?.find(({ start, steps }) => Number(line) >= start && Number(line) < start + steps.length);
    if (file === undefined) return frame;
    return `${file.path}:${file.steps.slice(0, Number(line) - file.start + 1).reduce((sum, step) => sum + step, 0)}`;
  });
}
