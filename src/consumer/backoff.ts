/** The first wait: long enough for a short disturbance to pass. */
const FIRST_SECONDS = 5;
/** The longest wait: work goes on within an hour after the end of an outage. */
const LAST_SECONDS = 3600;

/**
 * Seconds to wait after this many failures: exponential, capped, with full jitter, so that what failed together doesn't
 * come back together. `random` is in [0, 1).
 */
export function backoff(failures: number, random: number): number {
  const ceiling = Math.min(LAST_SECONDS, FIRST_SECONDS * 2 ** Math.max(0, failures - 1));
  return Math.max(1, Math.round(ceiling * (1 - random)));
}
