import { NeonError } from '../../../../scripts/local/neon/request.ts';
import { type Call, OUTSIDE_URL } from './app.ts';
import type { Interleaving, Run } from './interleaving.ts';
import { type NeonInProcess, neonAnswer } from './neon.ts';

/** What was sent with one idempotency key. */
interface Called {
  readonly payloads: ReadonlySet<string>;
  readonly accepted: boolean;
}

/** Everything that `fetch` reaches: Neon, the other side of the effects, and the alert endpoint. Each call is a step. */
export class Outside {
  /** By idempotency key. */
  readonly calls = new Map<string, Called>();
  readonly #interleaving: Interleaving;
  readonly #neon: NeonInProcess;
  readonly #mishap: () => number;

  /** `mishap` are the random numbers that decide how a call fails. */
  constructor(interleaving: Interleaving, neon: NeonInProcess, mishap: () => number) {
    this.#interleaving = interleaving;
    this.#neon = neon;
    this.#mishap = mishap;
  }

  async fetch(run: Run, url: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    const body = String(init.body);
    const neonFails = () => this.#oneOf(NEON_FAILS);
    const callFails = () => this.#oneOf(CALL_FAILS);
    if (headers.has('neon-connection-string')) {
      if (run.postgresAway) return neonFails();
      return this.#interleaving.step(run, `Neon, ${statementsOf(body)}`, () => this.#neon.answer(init), neonFails);
    }
    const answer = async () => (url === OUTSIDE_URL ? this.#called(headers, body) : new Response());
    return this.#interleaving.step(run, `call ${url} ${body.slice(0, NAME_LENGTH)}`, answer, callFails);
  }

  /** The other side of an effect. */
  #called(headers: Headers, payload: string): Response {
    const key = headers.get('idempotency-key') ?? 'none';
    const before = this.calls.get(key);
    const { fails } = JSON.parse(payload) as Call;
    const status = fails === 'always' ? 400 : fails === 'once' && before === undefined ? 503 : 200;
    const payloads = new Set([...(before?.payloads ?? []), payload]);
    this.calls.set(key, { payloads, accepted: before?.accepted || status === 200 });
    return new Response(null, { status });
  }

  #oneOf(ways: readonly (() => Response)[]): Response {
    return (ways[Math.floor(this.#mishap() * ways.length)] ?? networkError)();
  }
}

/** The ways in which a request to Neon fails. */
const NEON_FAILS = [
  networkError,
  timeout,
  () => new Response('<html>'),
  () => neonAnswer(new NeonError(500, 'Control plane request failed')),
  () => neonAnswer(new NeonError(400, 'connection closed')),
];

const CALL_FAILS = [networkError, timeout, () => new Response(null, { status: 503 })];

function networkError(): never {
  throw new TypeError('fetch failed');
}

function timeout(): never {
  throw new DOMException('The operation was aborted due to timeout', 'TimeoutError');
}

/** Enough of a statement or a payload to tell the steps apart. */
const NAME_LENGTH = 60;

function statementsOf(body: string): string {
  const { query, queries = [{ query }] } = JSON.parse(body) as { query?: string; queries?: { query?: string }[] };
  const beginnings = queries.map((one) =>
    (one.query ?? '')
      .replaceAll(/\s+/g, ' ')
      .trim()
      .slice(0, NAME_LENGTH / 2),
  );
  return beginnings.join('; ');
}
