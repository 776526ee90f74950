import { readFileSync } from 'node:fs';
import { type SdkProof, sdks } from './sdks.ts';

interface Vector {
  readonly provider: string;
  readonly alsoFor?: readonly string[];
  readonly origin: string;
  readonly source: string;
}

const OFFICIAL = 'official vector';

/**
 * What proves that a provider's data is right: vectors and SDKs that others have made. They are listed in
 * workshop/proofs, and the tests run exactly what is listed there.
 */
export function proofOf(name: string): string {
  const sdk = sdkProof(name);
  // If the tests call the provider's SDK, only an official vector adds to the proof.
  const proofs = [...vectorProofs(name).filter((label) => sdk.length === 0 || label === OFFICIAL), ...sdk];
  return proofs.length > 0 ? proofs.join(', ') : 'own vector only';
}

function vectorProofs(name: string): string[] {
  const vectors: Vector[] = [
    ...readJson('workshop/proofs/vectors.json').vectors,
    ...readJson('workshop/proofs/more-vectors.json'),
  ];
  const about = vectors.filter(({ provider, alsoFor = [] }) => provider === name || alsoFor.includes(name));
  return [...new Set(about.flatMap(labelsFor))];
}

function labelsFor({ origin, source }: Vector): string[] {
  if (/^(provider-docs|official-)/.test(origin)) return [OFFICIAL];
  if (origin === 'third-party-test') return ['third-party vector'];
  return origin === 'generated-with-official-sdk' ? [`vector made by ${source}`] : [];
}

function sdkProof(name: string): string[] {
  const proof: SdkProof | undefined = Object.entries(sdks).find(([provider]) => provider === name)?.[1];
  if (!proof) return [];
  const version = readJson('package.json').devDependencies[proof.sdk];
  return [`official SDK ${proof.sdk}@${version}${proof.signs ? ', both ways' : ''}`];
}

function readJson(file: string) {
  return JSON.parse(readFileSync(file, 'utf8'));
}
