import { providers } from '../src/providers/index.ts';
import type { Proof, Vector } from '../src/providers/proof.ts';

/** The proof of every provider, by name, from the file next to its data. */
export const proofs: Readonly<Record<string, Proof>> = Object.fromEntries(
  await Promise.all(
    Object.keys(providers).map(async (name): Promise<[string, Proof]> => [name, await proofFrom(name)]),
  ),
);

async function proofFrom(name: string): Promise<Proof> {
  const { proof }: { proof: Proof } = await import(`../src/providers/${name}.proof.ts`);
  return proof;
}

export function proofOf(name: string): Proof {
  const proof = proofs[name];
  if (!proof) throw new Error(`${name} has no proof`);
  return proof;
}

/** A provider's own vectors and those of other providers with the same scheme. */
export function vectorsOf(name: string): Vector[] {
  const others = Object.values(proofs).flatMap(({ vectors = [] }) =>
    vectors.filter((one) => one.alsoFor?.includes(name)),
  );
  const renamed = others.map((vector) => ({ ...vector, headers: headersOf(name, vector) }));
  return [...(proofOf(name).vectors ?? []), ...renamed];
}

/** Svix, Clerk and Resend use other header names for the same values. */
function headersOf(name: string, { headers }: Vector): Record<string, string> {
  const prefix = ['svix', 'clerk', 'resend'].includes(name) ? 'svix-' : 'webhook-';
  return Object.fromEntries(
    Object.entries(headers).map(([header, value]) => [header.replace(/^(svix|webhook)-/, prefix), value]),
  );
}
