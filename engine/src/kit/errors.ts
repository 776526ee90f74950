import type { Failure } from '../db/schema.ts';

/**
 * Throw this if a retry can't help. The event is parked immediately.
 *
 * @example
 * throw new PermanentError('this order was never ours');
 */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
}

/**
 * Throw this to retry the event after at least this many seconds: from 0 to 86,400 (a day).
 *
 * @example
 * throw new RetryLater(60, 'the report is not ready yet');
 */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly seconds: number;

  constructor(seconds: number, message = `asked for a retry in ${seconds} s`) {
    super(message);
    this.seconds = seconds;
  }
}

interface FailureFacts {
  readonly failure: Failure;
  /** For the failure `schema`: the paths in the body that don't match. */
  readonly failedPaths: readonly string[] | null;
}

/** Stored outside the errors, because an error may be frozen or have its own properties with these names. */
const known = new WeakMap<object, FailureFacts>();

/** Marks an error with its failure, so that no code has to parse its message. */
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

/** For each definition of a handler or an effect, the stack of the app's line that called `define…`. */
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

/**
 * If a payload doesn't match its schema, no line of the app throws. So the error gets the position of the definition.
 */
export function placeAt(error: Error, definition: object): Error {
  const { stack } = definitions.get(definition) ?? {};
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** Classifies a thrown value. Never throws itself, even for a Proxy that throws on every access. */
export function failureOf(thrown: unknown): FailureFacts {
  // Looking up a Proxy in a WeakMap doesn't run its code.
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
