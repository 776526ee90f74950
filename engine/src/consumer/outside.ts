import { ofOtherSide, otherSideOf } from '../kit/errors.ts';
import { nameOf } from '../shared/log.ts';

/** The calls that a handler or an effect makes with its `fetch`. */
export interface Outside {
  readonly fetch: typeof fetch;
  /** The host that was called last. */
  readonly last: () => string | undefined;
  /** Hosts whose last answer was a success. */
  readonly succeeded: () => string[];
  /** A host that was not called, because calls to it are paused. */
  readonly refused: () => string | undefined;
}

/** Watches the calls of one handler or effect, and makes none to a host that is paused. */
export function watchCalls(outside: typeof fetch, isPaused: (host: string) => boolean = () => false): Outside {
  const hosts = new Map<string, boolean>();
  let last: string | undefined;
  let refused: string | undefined;
  const watched: typeof fetch = async (input, init) => {
    const host = URL.parse(input instanceof Request ? input.url : String(input))?.host;
    if (host === undefined) return outside(input, init);
    if (isPaused(host)) {
      refused = host;
      throw new Error(`calls to ${host} are paused`);
    }
    last = host;
    hosts.set(host, false);
    try {
      const response = await outside(input, init);
      hosts.set(host, response.ok);
      return response;
    } catch (error) {
      throw isOfCode(error) || otherSideOf(error)
        ? error
        : ofOtherSide(error, { host, problem: problemOf(error, host) });
    }
  };
  return {
    fetch: watched,
    last: () => last,
    succeeded: () => [...hosts].flatMap(([host, isOk]) => (isOk ? [host] : [])),
    refused: () => refused,
  };
}

/** The code has ended its own call, and not because of the time. */
function isOfCode(error: unknown): boolean {
  return error instanceof Error && nameOf(error) === 'AbortError';
}

function problemOf(error: unknown, host: string): string {
  const isLate = error instanceof Error && nameOf(error) === 'TimeoutError';
  return isLate ? `${host} did not answer in time` : `${host} could not be reached`;
}

/** The time of the work was up: if it has called somebody, that may be why. */
export function markLate(error: Error, last: string | undefined): void {
  if (last !== undefined) ofOtherSide(error, { host: last, problem: `${last} did not answer in time` });
}

/** A Response that was made by hand has no URL, but it is made of the answer to a call. */
export function withHost<E>(error: E, last: string | undefined): E {
  const side = otherSideOf(error);
  return side && side.host === '' && last !== undefined ? ofOtherSide(error, { ...side, host: last }) : error;
}
