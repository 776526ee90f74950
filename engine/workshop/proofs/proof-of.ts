import { readFileSync } from 'node:fs';
import { providers } from '../../src/providers/index.ts';
import { type SdkProof, sdks } from './sdks.ts';

interface Vector {
  readonly provider: string;
  readonly alsoFor?: readonly string[];
  readonly origin: string;
  readonly source: string;
}

const OFFICIAL = 'official vector';

/** Senders whose scheme nobody has documented: their data is a guess, so they are not among the known providers. */
const ASSUMED = ['awardee', 'gethook'];

/**
 * What proves that a provider's data is right: vectors and SDKs that others have made. They are listed in
 * engine/workshop/proofs, and the tests run exactly what is listed there.
 */
export function proofOf(name: string): string {
  if (ASSUMED.includes(name)) return 'nothing: an assumption';
  if (isToken(name)) return 'nothing to prove: a token';
  return proofsOf(name).join(', ') || 'own vector only';
}

/** How many providers are known, and how many of these are proved by vectors or SDKs of others. */
export function countProofs(names: readonly string[]) {
  const known = names.filter((name) => !ASSUMED.includes(name));
  return {
    known: known.length,
    proved: known.filter((name) => !isToken(name) && proofsOf(name).length > 0).length,
    tokens: known.filter(isToken).length,
    assumed: names.length - known.length,
  };
}

function isToken(name: string): boolean {
  return providers[name]?.scheme.token !== undefined;
}

function proofsOf(name: string): string[] {
  const sdk = sdkProof(name);
  // If the tests call the provider's SDK, only an official vector adds to the proof.
  return [...vectorProofs(name).filter((label) => sdk.length === 0 || label === OFFICIAL), ...sdk];
}

function vectorProofs(name: string): string[] {
  const vectors: Vector[] = [
    ...readJson('engine/workshop/proofs/vectors.json').vectors,
    ...readJson('engine/workshop/proofs/more-vectors.json'),
  ];
  const about = vectors.filter(({ provider, alsoFor = [] }) => provider === name || alsoFor.includes(name));
  return [...new Set(about.flatMap(labelsFor))];
}

function labelsFor({ origin, source }: Vector): string[] {
  if (/^(provider-docs|official-)/.test(origin)) return [OFFICIAL];
  if (origin === 'third-party-test') return ['third-party vector'];
  if (origin === 'accepted-by-others') return [`vector that ${source.split(' ')[0]} accepts`];
  return origin === 'generated-with-official-sdk' ? [`vector made by ${source}`] : [];
}

function sdkProof(name: string): string[] {
  const proof: SdkProof | undefined = Object.entries(sdks).find(([provider]) => provider === name)?.[1];
  if (!proof) return [];
  const { version } = readJson(`node_modules/${proof.sdk}/package.json`);
  const whose = proof.by === 'others' ? 'package of others' : 'official SDK';
  return [`${whose} ${proof.sdk}@${version}${proof.signs ? ', both ways' : ''}`];
}

function readJson(file: string) {
  return JSON.parse(readFileSync(file, 'utf8'));
}
