import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../cli/lib/user-error.ts';

/** What may be inside a Worker that somebody deploys or sells: these licences ask for no more than is said here. */
const ALLOWED: Readonly<Record<string, string>> = {
  MIT: 'keep the notice with copies of the code',
  ISC: 'like MIT, in fewer words',
  '0BSD': 'nothing at all',
  'BSD-2-Clause': 'keep the notice with copies of the code',
  'BSD-3-Clause': 'also: no advertising with the names of the authors',
  'Apache-2.0': 'also: say what you changed. It gives a licence for patents',
};

/** What esbuild writes about a bundle: which files are in it, and with how many bytes. */
export interface BundleMeta {
  readonly outputs: Readonly<
    Record<string, { readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>> }>
  >;
}

export interface ShippedPackage {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
}

/** The packages whose code is in a bundle. */
export function packagesIn({ outputs }: BundleMeta): ShippedPackage[] {
  const files = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
  );
  const folders = new Set(files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  return Array.from(folders, shippedFrom).sort((a, b) => a.name.localeCompare(b.name));
}

function shippedFrom(folder: string): ShippedPackage {
  const manifest = join(folder, 'package.json');
  if (!existsSync(manifest)) throw new UserError(`${folder} is in a bundle and has no package.json`);
  const { name, version, license } = JSON.parse(readFileSync(manifest, 'utf8')) as Record<string, unknown>;
  return { name: String(name), version: String(version), licence: typeof license === 'string' ? license : 'none' };
}

/** Throws if a licence is not allowed. */
export function assertLicensed(packages: readonly ShippedPackage[]): void {
  const refused = packages.filter(({ licence }) => !Object.hasOwn(ALLOWED, licence));
  if (refused.length === 0) return;
  const lines = refused.map(({ name, version, licence }) => `${name}@${version}: ${licence}`);
  throw new UserError(
    `${lines.join('\n')}\nOnly these may be shipped: ${Object.keys(ALLOWED).join(', ')} (engine/workshop/licences.ts)`,
  );
}
