import type { Provider } from '../../src/providers/index.ts';
import { MIN_TENANTS_KEY } from '../../src/shared/tenants.ts';
import { checkWith, keyBytes } from '../../src/verify/algorithms.ts';
import { settingsOf } from '../../src/verify/settings.ts';
import { formOf as formOfSettings } from '../samples/sign-jose.ts';

/** The secret of receiver and ops from which addresses and secrets of tenants are made. */
export const TENANTS_KEY = 'TENANTS_KEY';

/** A shorter secret can be guessed by somebody who has one delivery and enough time. */
const MIN_BYTES = 16;

export type SecretFinding =
  /** The secret can't be right. */
  | { outcome: 'wrong'; sentence: string }
  /** The secret may be right, but is probably a mistake. */
  | { outcome: 'suspicious'; sentence: string }
  | { outcome: 'fine' };

/**
 * Checks a secret before it is stored, for every command that reads one. With a wrong secret, all real deliveries are
 * refused, and our own test delivery doesn't notice because it is signed with the same secret. `provider` is the
 * provider of the secret's source.
 */
export async function judgeSecret(name: string, value: string, provider?: Provider): Promise<SecretFinding> {
  if (value !== value.trim()) return wrong(`${name} begins or ends with white space: remove it`);
  if (name.endsWith('_URL') && !URL.canParse(value)) return wrong(`${name} is not a URL`);
  if (name.startsWith(TENANTS_KEY) && value.length < MIN_TENANTS_KEY) {
    return wrong(`${name} has fewer than ${MIN_TENANTS_KEY} characters: openssl rand -hex 32 makes a long one`);
  }
  if (provider && !(await fits(provider, value))) {
    return wrong(`${name} is not in the form that ${provider.name} gives out${formOf(provider)}`);
  }
  const bytes = Buffer.byteLength(value);
  if (name.endsWith('_URL') || bytes >= MIN_BYTES) return { outcome: 'fine' };
  return {
    outcome: 'suspicious',
    sentence: `${name} has only ${bytes} bytes: a secret that is hard to guess has ${MIN_BYTES} or more`,
  };
}

function formOf({ scheme, secretPrefix }: Provider): string {
  if (secretPrefix !== undefined) return `, which begins with ${secretPrefix}`;
  if (scheme.check !== undefined) return `: ${formOfSettings(scheme)}`;
  if (scheme.token !== undefined || scheme.key === 'utf8') return '';
  return `: ${scheme.key}${scheme.keyPrefix === undefined ? '' : ` after ${scheme.keyPrefix}`}`;
}

/** Whether any of the provider's schemes can use a secret. */
export async function fits(provider: Provider, secret: string): Promise<boolean> {
  const { scheme, otherSchemes = [], secretPrefix = '' } = provider;
  if (!secret.startsWith(secretPrefix)) return false;
  for (const one of [scheme, ...otherSchemes]) {
    if (one.token !== undefined) {
      if (secret !== '') return true;
      continue;
    }
    if (one.check !== undefined) {
      if (settingsOf(one, secret)) return true;
      continue;
    }
    const bytes = keyBytes(secret, one);
    if (bytes && (await checkWith(one.algorithm ?? 'hmac-sha256', bytes))) return true;
  }
  return false;
}

function wrong(sentence: string): SecretFinding {
  return { outcome: 'wrong', sentence };
}
