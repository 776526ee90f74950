import { signers } from '../../signatures.ts';
import { SECRET } from './bindings.ts';
import type { Sending } from './scenarios.ts';

/** How each provider signs. */
const SIGNERS = {
  stripe: signers.stripe,
  keyed: signers.stripe,
  github: signers.github,
  batch: signers.gethook,
  going: signers.gethook,
};

const MINUTE = 60_000;

/** How long a provider waits at most before it sends a delivery again. */
const MAX_WAIT_MS = 20 * MINUTE;

/** A delivery that a provider is going to make. */
export interface Due {
  readonly sending: Sending;
  readonly at: number;
  readonly attempt: number;
}

/** The senders of all deliveries. They send again what wasn't answered 200, and some things nevertheless. */
export class Providers {
  /** The events of every delivery that was answered 200. */
  readonly held = new Set<string>();
  /** Answers that no provider should ever get from us. */
  readonly unexpected: string[] = [];
  #due: Due[];
  readonly #random: () => number;

  constructor(sendings: readonly Sending[], start: number, random: () => number) {
    this.#random = random;
    this.#due = sendings.flatMap((sending) =>
      Array.from({ length: sending.times }, (_, n) => {
        return { sending, at: start + (sending.atMinute + n) * MINUTE, attempt: n + 1 };
      }),
    );
  }

  get due(): readonly Due[] {
    return this.#due;
  }

  /** The request that the provider makes now. */
  async send(due: Due, now: number): Promise<Request> {
    const { source, body, id } = due.sending;
    const signed = await SIGNERS[source](body, { secret: SECRET, now: new Date(now), ...(id && { id }) });
    return new Request(`https://claimcheck.example.com/webhooks/${source}`, { method: 'POST', ...signed });
  }

  /** From now on it is on its way, and not due. */
  begin(due: Due): void {
    this.#due = this.#due.filter((other) => other !== due);
  }

  /** The status that arrived, if any. */
  answered({ sending, attempt }: Due, status: number | undefined, now: number): void {
    const { source, events } = sending;
    const wait = this.#random() * MAX_WAIT_MS;
    if (status === 200) for (const { id } of events) this.held.add(JSON.stringify([source, id]));
    else this.#due.push({ sending, at: now + wait, attempt: attempt + 1 });
    const ids = events.map(({ id }) => id).join();
    if (status && status !== 200 && status !== 503) this.unexpected.push(`${ids} of ${source} was answered ${status}`);
  }
}
