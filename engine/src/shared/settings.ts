/** An optional variable or secret. The generated types hold only what the wrangler files name, so it has no type there. */
export function settingOf(env: object, name: string): string | undefined {
  const value: unknown = Reflect.get(env, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
