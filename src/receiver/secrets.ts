import { once } from '../encoding/once.ts';

/** `github-org` → `GITHUB_ORG_WEBHOOK_SECRET`. Only for names of configured sources, because each result is kept. */
export const secretName = once(
  (source: string) => `${source.replaceAll(/[^a-z0-9]+/gi, '_').toUpperCase()}_WEBHOOK_SECRET`,
);

/**
 * The current secret and, while it is being rotated, the previous one. Without a current secret there is none at all:
 * a source that lost its secret must not go on with an old one.
 */
export function secretsOf(source: string, env: object): string[] {
  const name = secretName(source);
  const [current, previous] = [Reflect.get(env, name), Reflect.get(env, `${name}_PREVIOUS`)];
  if (typeof current !== 'string' || current === '') return [];
  return typeof previous === 'string' && previous !== '' ? [current, previous] : [current];
}

/** `META_VERIFY_TOKEN`: Meta must send it before its subscription to our address is confirmed. */
export const verifyTokenName = once((source: string) =>
  secretName(source).replace(/_WEBHOOK_SECRET$/, '_VERIFY_TOKEN'),
);

export function verifyTokenOf(source: string, env: object): string | undefined {
  const token = Reflect.get(env, verifyTokenName(source));
  return typeof token === 'string' && token !== '' ? token : undefined;
}
