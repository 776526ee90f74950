/**
 * The event types that a source expects. In a list, `issues.*` stands for all types that begin with `issues.`. `*`
 * means that the types are not known.
 */
export type ExpectedTypes = '*' | readonly string[];

/**
 * Whether a pattern matches a type. It may be the type itself, `issues.*` for all types that begin with `issues.`, or
 * `*`.
 */
export function covers(pattern: string, type: string | null): boolean {
  if (pattern === type || pattern === '*') return true;
  return type !== null && pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1));
}

/** The types in a list, without the patterns. */
export function namedTypes(types: ExpectedTypes): readonly string[] {
  return types === '*' ? [] : types.filter((type) => !type.endsWith('*'));
}

/** Describes the mistake in a pattern, if there is one. */
export function problemOfPattern(pattern: string): string | undefined {
  const isRight = pattern === '*' || !pattern.endsWith('*') || (pattern.endsWith('.*') && pattern !== '.*');
  return isRight ? undefined : `"${pattern}", which is not a pattern: one ends with a dot and *, as in "issues.*"`;
}
