import type { Provider, Scheme } from '../providers/types.ts';
import { keyBytes } from './algorithms.ts';
import { schemesOf } from './index.ts';
import { settingsOf } from './settings.ts';

/** Whether a secret is in the form that one of the provider's schemes wants. */
export function isUsableSecret(provider: Provider, secret: string): boolean {
  if (secret.trim() === '' || !secret.startsWith(provider.secretPrefix ?? '')) return false;
  return schemesOf(provider).some((scheme) => {
    if (scheme.token !== undefined) return !scheme.basic || secret.includes(':');
    return scheme.check === undefined
      ? keyBytes(secret, scheme) !== undefined
      : settingsOf(scheme, secret) !== undefined;
  });
}

/** Whether we may make the secret, as 64 hex digits, and tell it to the sender. */
export function canBeDerived(provider: Provider): boolean {
  return provider.secretPrefix === undefined && schemesOf(provider).some(takesAnyText);
}

function takesAnyText(scheme: Scheme): boolean {
  if (scheme.token !== undefined) return !scheme.basic;
  if (scheme.check !== undefined) return scheme.kind === 'jose' && 'secret' in scheme.keys && !scheme.settings;
  return (scheme.algorithm ?? 'hmac-sha256').startsWith('hmac-');
}
