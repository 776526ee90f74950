interface Sending {
  /** How many deliveries of this event begin at the same moment. */
  readonly times: number;
  readonly send: () => Promise<Response>;
}

export interface Load {
  /** How often each status was answered. A lost connection is `no answer`. */
  readonly answers: ReadonlyMap<string, number>;
  /** Of the answers 200. */
  readonly milliseconds: readonly number[];
  /** From the first delivery to the last answer. */
  readonly seconds: number;
}

/** Providers wait minutes or hours. A test has no time. */
const RETRY_MS = 300;

/**
 * Sends new events at a constant rate, whether the earlier ones have been answered or not, as the world does. A delivery
 * is repeated until its answer is 200.
 */
export async function sendAtRate(perSecond: number, seconds: number, event: (n: number) => Sending): Promise<Load> {
  const answers = new Map<string, number>();
  const milliseconds: number[] = [];
  const deliver = async ({ send }: Sending) => {
    for (;;) {
      const started = performance.now();
      const status = await send().then(
        async (response) => {
          await response.arrayBuffer();
          return String(response.status);
        },
        () => 'no answer',
      );
      answers.set(status, (answers.get(status) ?? 0) + 1);
      if (status === '200') return void milliseconds.push(performance.now() - started);
      await pause(RETRY_MS * (1 + Math.random()));
    }
  };

  const started = performance.now();
  const deliveries: Promise<void>[] = [];
  for (let n = 0; n < perSecond * seconds; n++) {
    await pause(started + (n * 1000) / perSecond - performance.now());
    const sending = event(n);
    for (let times = 0; times < sending.times; times++) deliveries.push(deliver(sending));
  }
  await Promise.all(deliveries);
  return { answers, milliseconds, seconds: (performance.now() - started) / 1000 };
}

export function percentile(values: readonly number[], share: number): number {
  return Math.round(values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
