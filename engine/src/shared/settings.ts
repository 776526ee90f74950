/** Reads an optional variable or secret, which the types generated from the wrangler files don't contain. */
export function settingOf(env: object, name: string): string | undefined {
  const value: unknown = Reflect.get(env, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
