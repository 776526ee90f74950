import { existsSync, renameSync, rmSync } from 'node:fs';
import { readArguments } from '../cli/lib/arguments.ts';
import { type Files, readFiles, tryGit } from '../cli/lib/fork-files.ts';
import { UserError } from '../cli/lib/user-error.ts';
import { keptDir, refuseInUse } from '../cli/local/postgres-files.ts';
import { buildFork } from './init/build.ts';
import { filesOf, readFolder } from './init/files.ts';
import { OLDEST_NODE, ownNode } from './init/node.ts';
import { changesBetween, replaceFiles } from './init/replace.ts';

const SYNOPSIS = 'npm run init -- <name> [--empty] [--dry-run]';

const USAGE = `${SYNOPSIS}

Makes this copy of the template yours: renamed, and without what only the template's makers need.
  --empty     also without the sample app
  --dry-run   changes nothing, and prints what would be changed`;

/** What this template is called until it is yours. */
const TEMPLATE = 'claimcheck';

/** Cloudflare allows 63 characters. The longest name that is made of it ends with `-effects-dead`. */
const NAME = /^[a-z][a-z0-9-]{0,48}[a-z0-9]$/;

/** Makes a copy of the template yours. The fork is built in a temporary folder first: nothing here changes before it is complete. */
export default async function main(): Promise<void> {
  const { name, empty, dryRun } = readArgs();
  const { template, commit } = readTemplate(dryRun);
  const data = keptDir('.data/postgres');
  if (empty) await refuseInUse(data);
  const node = ownNode();
  const fork = buildFork(filesOf(template, { name, empty, commit, withNode: node === undefined }));

  const changes = changesBetween(template, fork);
  const [removed, written] = [changes.removed.length, changes.written.length];
  if (dryRun) {
    for (const path of changes.removed) console.log(`would remove  ${path}`);
    for (const { path } of changes.written) console.log(`would write   ${path}`);
    return console.log(`${removed} files would be removed and ${written} written. Nothing was changed.`);
  }
  replaceFiles(changes);
  // The database of the sample app has its tables.
  if (empty && existsSync(data)) {
    rmSync(`${data}.before-init`, { recursive: true, force: true });
    renameSync(data, `${data}.before-init`);
  }
  console.log(`This is ${name} now: ${fork.size} files (${removed} were removed, ${written} written).
${
  node === undefined
    ? `Your own Node is older than ${OLDEST_NODE}, so Node stays a package of the project: every npm run uses it.`
    : `It uses your own Node (${node}), and .nvmrc names the one that it was tested with.`
}
${
  commit === undefined
    ? 'This is not a git checkout, so git cannot show what has changed. Make it one: git init && git add --all && git commit'
    : 'Look at it with git status and git diff, and commit it: git add --all && git commit'
}
Then:
  npm ci                           removes the packages that only the template needs
  npm run dev                      starts everything on this machine
  npm run send                     says how to send a signed sample
  docs/tutorial.md                 says how to add your sources, handlers, tables, effects and tests`);
}

function readArgs() {
  const { values, positionals } = readArguments({
    usage: USAGE,
    words: 1,
    options: { empty: { type: 'boolean', default: false }, 'dry-run': { type: 'boolean', default: false } },
  });
  const [name] = positionals;
  if (name === undefined) throw new UserError(SYNOPSIS);
  if (!NAME.test(name) || name === TEMPLATE) {
    throw new UserError(
      `"${name}" can't be a name: take 2 to 50 lower-case letters, digits and dashes, beginning with a letter, such as acme-hooks`,
    );
  }
  return { name, empty: values.empty, dryRun: values['dry-run'] };
}

/** The files as they are committed. Without git (a download, create-cloudflare) those of the folder. */
function readTemplate(dryRun: boolean): { template: Files; commit: string | undefined } {
  const { status, out } = tryGit(['status', '--porcelain', '--', '.']);
  if (status !== 0) return { template: readFolder(), commit: undefined };
  if (out.length > 0 && !dryRun) throw new UserError('there are uncommitted changes: commit or stash them first');
  const head = tryGit(['rev-parse', '--verify', 'HEAD']);
  if (head.status !== 0)
    throw new UserError('there is no commit yet: commit everything, so that git shows what init does');
  return { template: readFiles('.', 'HEAD'), commit: head.out.toString().trim() };
}
