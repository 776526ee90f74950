/** Neon suspends a compute that gets no query for this long. On the Free plan it cannot be changed. */
const SUSPENDS_AFTER_MS = 5 * 60_000;

/**
 * When a Neon compute would be awake. It is asleep at first. The times come from the test, never backwards, so that a
 * day takes seconds.
 */
export class Compute {
  /** How often it was woken. */
  wakes = 0;
  awakeMs = 0;
  readonly #wakeMs: number;
  #awakeFrom = 0;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(wakeMs = 0) {
    this.#wakeMs = wakeMs;
  }

  /** Somebody asks at this time. Returns for how many milliseconds the request has to wait, because it wakes up. */
  ask(at: number): number {
    const idleMs = at - this.#askedAt;
    this.#askedAt = at;
    if (idleMs < SUSPENDS_AFTER_MS) this.awakeMs += idleMs;
    else {
      this.wakes++;
      this.awakeMs += SUSPENDS_AFTER_MS;
      this.#awakeFrom = at + this.#wakeMs;
    }
    return Math.max(0, this.#awakeFrom - at);
  }
}
