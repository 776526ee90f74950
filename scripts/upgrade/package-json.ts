import { isDeepStrictEqual } from 'node:util';
import { isObject, type Json } from '../lib/fork-files.ts';

/** What describes the fork itself. */
const OWN = ['name', 'version', 'description', 'private', 'license', 'author', 'repository', 'homepage', 'bugs'];
/** What npm installs by. */
const INSTALLED = [
  'dependencies',
  'devDependencies',
  'optionalDependencies',
  'overrides',
  'allowScripts',
  'workspaces',
];

export interface MergedPackage {
  readonly value: { readonly [key: string]: Json };
  /** In words: entries that both have changed. The fork's were kept. */
  readonly kept: readonly string[];
  readonly mustInstall: boolean;
}

/** Takes over what the template has changed, key by key. Entries that the fork has added or changed stay. */
export function mergePackages(base: Json, next: Json, yours: Json): MergedPackage {
  const kept: string[] = [];
  const value = merge(ofEngine(base), ofEngine(next), yours, [], kept);
  if (!isObject(value) || !isObject(yours)) throw new TypeError('package.json is not an object');
  const mustInstall = INSTALLED.some((key) => !isDeepStrictEqual(value[key], yours[key]));
  return { value, kept, mustInstall };
}

function ofEngine(value: Json): Json {
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== 'claimcheck' && !OWN.includes(key)));
}

type Maybe = Json | undefined;

function merge(base: Maybe, next: Maybe, yours: Maybe, path: readonly string[], kept: string[]): Maybe {
  if (isDeepStrictEqual(base, next) || isDeepStrictEqual(next, yours)) return yours;
  if (isDeepStrictEqual(base, yours)) return next;
  if (isObject(next) && isObject(yours)) {
    const before = isObject(base) ? base : {};
    const keys = new Set([...Object.keys(yours), ...Object.keys(next)]);
    const entries = [...keys].flatMap((key): [string, Json][] => {
      const value = merge(before[key], next[key], yours[key], [...path, key], kept);
      return value === undefined ? [] : [[key, value]];
    });
    return Object.fromEntries(entries);
  }
  kept.push(`${path.join('.')}: yours ${inWords(yours)}, the template's ${inWords(next)}`);
  return yours;
}

function inWords(value: Maybe): string {
  return value === undefined ? 'is deleted' : `is ${JSON.stringify(value)}`;
}
