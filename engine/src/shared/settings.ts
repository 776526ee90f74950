/**
 * Reads an optional variable or secret. The generated types contain only the names in the wrangler files, so it has no
 * type there.
 */
export function settingOf(env: object, name: string): string | undefined {
  const value: unknown = Reflect.get(env, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
