import { NeonError } from '../../../cli/local/neon/request.ts';
import { type Call, OUTSIDE_URL } from './app.ts';
import type { Interleaving, Run } from './interleaving.ts';
import { type NeonInProcess, neonAnswer } from './neon.ts';

/** What was sent with one idempotency key. */
interface Called {
  readonly payloads: ReadonlySet<string>;
  readonly accepted: boolean;
}

/**
 * Everything that `fetch` reaches: Neon, the other side of the effects, and the alert endpoint. Each call is a step. `mishap`
 * are the random numbers that decide how a call fails.
 */
export function createOutside(interleaving: Interleaving, neon: NeonInProcess, mishap: () => number) {
  /** By idempotency key. */
  const calls = new Map<string, Called>();
  const oneOf = (ways: readonly (() => Response)[]) => (ways[Math.floor(mishap() * ways.length)] ?? networkError)();

  /** The other side of an effect. */
  const called = (headers: Headers, payload: string) => {
    const key = headers.get('idempotency-key') ?? 'none';
    const before = calls.get(key);
    const { fails } = JSON.parse(payload) as Call;
    const status = fails === 'always' ? 400 : fails === 'once' && before === undefined ? 503 : 200;
    const payloads = new Set([...(before?.payloads ?? []), payload]);
    calls.set(key, { payloads, accepted: before?.accepted || status === 200 });
    return new Response(null, { status });
  };

  const fetch = async (run: Run, url: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers);
    const body = String(init.body);
    if (headers.has('neon-connection-string')) {
      const fails = () => oneOf(NEON_FAILS);
      if (run.postgresAway) return fails();
      return interleaving.step(run, `Neon, ${statementsOf(body)}`, () => neon.answer(init), fails);
    }
    const answer = async () => (url === OUTSIDE_URL ? called(headers, body) : new Response());
    return interleaving.step(run, `call ${url} ${body.slice(0, NAME_LENGTH)}`, answer, () => oneOf(CALL_FAILS));
  };

  return { calls, fetch };
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
