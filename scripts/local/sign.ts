import { createHmac } from 'node:crypto';
import type { Provider } from '../../src/providers/index.ts';
import { fillBytes } from '../../src/providers/places.ts';
import { keyBytes } from '../../src/providers/verify.ts';
import { type Sample, samples } from './samples.ts';
import { UserError } from './user-error.ts';

export interface Signed {
  readonly headers: Record<string, string>;
  readonly body: string;
}

export interface ToSign {
  readonly id: string;
  readonly type: string;
  readonly now: Date;
  /** Instead of the provider's sample. */
  readonly body?: string | undefined;
}

export function sampleOf(provider: Provider): Sample {
  const sample = samples[provider.name];
  if (!sample) throw new UserError(`there is no sample for ${provider.name} yet: add one to scripts/local/samples.ts`);
  return sample;
}

/** A delivery as the provider would send it: the scheme that verifies, turned round. */
export function sign(provider: Provider, secret: string, { id, type, now, body }: ToSign): Signed {
  const sample = sampleOf(provider);
  const text = body ?? JSON.stringify(sample.body(id, type, now));
  const timestamp = Math.floor(now.getTime() / (provider.scheme.timestamp?.unit === 'ms' ? 1 : 1000));
  const headersWith = (signature: string) => {
    const filled = Object.entries({ 'content-type': 'application/json', ...sample.headers }).map(([name, value]) => [
      name,
      value
        .replace('{timestamp}', String(timestamp))
        .replace('{id}', id)
        .replace('{type}', type)
        .replace('{signature}', signature),
    ]);
    return Object.fromEntries(filled) as Record<string, string>;
  };
  const sight = { headers: new Headers(headersWith('')), body: new TextEncoder().encode(text) };
  const signed = fillBytes(provider.scheme.signed, sight);
  const key = keyBytes(secret, provider.scheme);
  if (!signed || !key)
    throw new UserError(`the secret of ${provider.name} is not in the form that the provider gives out`);
  const signature = createHmac('sha256', key).update(signed).digest(provider.scheme.encoding);
  return { headers: headersWith(signature), body: text };
}
