import type { Failure } from '../db/schema.ts';

/**
 * Throw it if another try can't help. The event is parked at once.
 *
 * @example
 * throw new PermanentError('this order was never ours');
 */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
}

/**
 * Throw it to have the event tried again, but not before this many seconds have passed: from 0 to 86,400 (a day).
 *
 * @example
 * throw new RetryLater(60, 'the report is not ready yet');
 */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly seconds: number;

  constructor(seconds: number, message = `asked to be tried again in ${seconds} s`) {
    super(message);
    this.seconds = seconds;
  }
}

interface FailureFacts {
  readonly failure: Failure;
  /** Of the failure `schema`: the paths in the body that don't match. */
  readonly failedPaths: readonly string[] | null;
}

/** Kept beside the errors, because an error may be frozen, or have properties of its own with these names. */
const known = new WeakMap<object, FailureFacts>();

/** Says which failure an error of ours is, so that nobody has to read its message for that. */
export function withFailure<E extends Error>(error: E, failure: Failure, failedPaths?: readonly string[]): E {
  known.set(error, { failure, failedPaths: failedPaths ?? null });
  return error;
}

/** Of which other side an error speaks. */
export interface OtherSide {
  /** Empty if it isn't known. */
  readonly host: string;
  /** For people, without anything secret: `api.example.com answered 503`. */
  readonly problem: string;
}

const otherSides = new WeakMap<object, OtherSide>();

/** Says that the other side may be at fault: as long as it is, the failure doesn't count as an attempt. */
export function ofOtherSide<E>(error: E, side: OtherSide): E {
  if (typeof error === 'object' && error !== null) otherSides.set(error, side);
  return error;
}

export function otherSideOf(thrown: unknown): OtherSide | undefined {
  return otherSides.get(thrown as object);
}

/** The stack of each definition of a handler or an effect, from the line of yours that called `define`. */
const definitions = new WeakMap<object, { readonly stack?: string }>();

export function rememberDefinition<Definition extends object>(
  definition: Definition,
  define: (definition: never) => unknown,
): Definition {
  const place = {};
  Error.captureStackTrace(place, define);
  definitions.set(definition, place);
  return definition;
}

/** No line of yours throws if a payload doesn't match a schema, so the error gets the place of the definition with it. */
export function placeAt(error: Error, definition: object): Error {
  const { stack } = definitions.get(definition) ?? {};
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** Which failure was thrown. Never throws, whatever was thrown: a Proxy can answer any question with an error. */
export function failureOf(thrown: unknown): FailureFacts {
  // Looking a Proxy up in a WeakMap runs none of its code.
  return known.get(thrown as object) ?? { failure: failureByClass(thrown), failedPaths: null };
}

function failureByClass(thrown: unknown): Failure {
  try {
    if (thrown instanceof PermanentError) return 'permanent';
    return thrown instanceof RetryLater ? 'retry_later' : 'handler';
  } catch {
    return 'handler';
  }
}
