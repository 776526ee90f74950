/** The types that a source expects: a list, in which `issues.*` stands for all that begin so, or `*` if they are not known. */
export type ExpectedTypes = '*' | readonly string[];

/** Whether this type is named: by itself, by `issues.*`, which covers all that begin with `issues.`, or by `*`. */
export function covers(pattern: string, type: string | null): boolean {
  if (pattern === type || pattern === '*') return true;
  return type !== null && pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1));
}

/** What a list of types names, without its patterns. */
export function namedTypes(types: ExpectedTypes): readonly string[] {
  return types === '*' ? [] : types.filter((type) => !type.endsWith('*'));
}

/** What is wrong with a name of types, if anything. */
export function problemOfPattern(pattern: string): string | undefined {
  const isRight = pattern === '*' || !pattern.endsWith('*') || (pattern.endsWith('.*') && pattern !== '.*');
  return isRight ? undefined : `"${pattern}", which is not a pattern: one ends with a dot and *, as in "issues.*"`;
}
