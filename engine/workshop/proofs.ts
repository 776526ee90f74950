import { providers } from '../src/providers/index.ts';
import type { Proof } from '../src/providers/proof.ts';

/** The proof of every provider, by name: the file beside its data. */
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
