import { readFileSync } from 'node:fs';
import { providers } from '../src/providers/index.ts';
import type { Vector } from '../src/providers/proof.ts';
import { proofOf, vectorsOf } from './proofs.ts';

const OFFICIAL = 'official vector';

/** The evidence that a provider's data is right: vectors and SDKs made by others. The tests run all of them. */
export function provedBy(name: string): string {
  if (isAssumed(name)) return 'nothing: an assumption';
  if (isToken(name)) return 'nothing to prove: a token';
  return labelsOf(name).join(', ') || 'own vector only';
}

/** Counts the known providers, and those proved by vectors or SDKs of others. */
export function countProofs(names: readonly string[]) {
  const known = names.filter((name) => !isAssumed(name));
  return {
    known: known.length,
    proved: known.filter((name) => !isToken(name) && labelsOf(name).length > 0).length,
    tokens: known.filter(isToken).length,
    assumed: names.length - known.length,
  };
}

function isAssumed(name: string): boolean {
  return proofOf(name).assumed === true;
}

function isToken(name: string): boolean {
  return providers[name]?.scheme.token !== undefined;
}

function labelsOf(name: string): string[] {
  const sdk = sdkLabels(name);
  // If the tests call the provider's SDK, only an official vector adds to the proof.
  return [...vectorLabels(name).filter((label) => sdk.length === 0 || label === OFFICIAL), ...sdk];
}

function vectorLabels(name: string): string[] {
  return [...new Set(vectorsOf(name).flatMap(labelsFor))];
}

function labelsFor({ origin, source }: Vector): string[] {
  if (/^(provider-docs|official-)/.test(origin)) return [OFFICIAL];
  if (origin === 'third-party-test') return ['third-party vector'];
  if (origin === 'accepted-by-others') return [`vector that ${source.split(' ')[0]} accepts`];
  return origin === 'generated-with-official-sdk' ? [`vector made by ${source}`] : [];
}

function sdkLabels(name: string): string[] {
  const { sdk } = proofOf(name);
  if (!sdk) return [];
  const { version } = JSON.parse(readFileSync(`engine/workshop/node_modules/${sdk.sdk}/package.json`, 'utf8'));
  const whose = sdk.by === 'others' ? 'package of others' : 'official SDK';
  return [`${whose} ${sdk.sdk}@${version}${sdk.signs ? ', both ways' : ''}`];
}
