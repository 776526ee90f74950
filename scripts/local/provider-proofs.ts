import { readFileSync } from 'node:fs';
import { oracles } from '../../test/engine/verify/oracles.ts';

interface Vector {
  readonly provider: string;
  readonly alsoFor?: readonly string[];
  readonly origin: string;
  readonly source: string;
}

const OFFICIAL = 'official vector';

/** What shows that a provider's data is right, by somebody else's code; taken from what the tests run. */
export function proofOf(name: string): string {
  const sdk = sdkProof(name);
  // Where an SDK is asked on every run, a vector that it made once proves nothing more.
  const proofs = [...vectorProofs(name).filter((words) => sdk.length === 0 || words === OFFICIAL), ...sdk];
  return proofs.length > 0 ? proofs.join(', ') : 'own vector only';
}

function vectorProofs(name: string): string[] {
  const read = (file: string) => JSON.parse(readFileSync(`test/engine/verify/${file}`, 'utf8'));
  const vectors: Vector[] = [...read('vectors.json').vectors, ...read('more-vectors.json')];
  const about = vectors.filter(({ provider, alsoFor = [] }) => provider === name || alsoFor.includes(name));
  return [...new Set(about.flatMap(wordsFor))];
}

function wordsFor({ origin, source }: Vector): string[] {
  if (/^(provider-docs|official-)/.test(origin)) return [OFFICIAL];
  if (origin === 'third-party-test') return ['third-party vector'];
  return origin === 'generated-with-official-sdk' ? [`vector made by ${source}`] : [];
}

function sdkProof(name: string): string[] {
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  const oracle = oracles[name];
  return oracle
    ? [`official SDK ${oracle.sdk}@${devDependencies[oracle.sdk]}${oracle.signs ? ', both ways' : ''}`]
    : [];
}
