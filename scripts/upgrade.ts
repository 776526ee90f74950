import { spawnSync } from 'node:child_process';
import { readArguments } from './lib/arguments.ts';
import { readFiles, readJson, tryGit } from './lib/fork-files.ts';
import { UserError } from './lib/user-error.ts';
import { type Package, planUpgrade, type Upgrade } from './upgrade/plan.ts';
import { openTemplate, type Template } from './upgrade/template.ts';
import { assertClean, stageChanged, writeChanges } from './upgrade/write.ts';

const USAGE = `npm run upgrade [-- <version>] [--from <git url or folder>] [--dry-run] [--no-checks] [--list]

Brings the engine to a version of the template, or to its newest, and leaves alone what is yours. It commits nothing.
  --from       where the template is, if package.json doesn't say it
  --dry-run    changes nothing, and prints what would be changed
  --no-checks  doesn't install, check and test afterwards
  --list       prints the versions that there are`;

/** Brings the engine of a fork to a newer version of the template, and leaves alone what is the fork's own. */
export default async function main(): Promise<void> {
  const { wanted, places, list, dryRun, checks } = readArgs();
  if (tryGit(['rev-parse', '--verify', 'HEAD']).status !== 0) {
    throw new UserError('this is not a git checkout with a commit, so an upgrade could not be undone');
  }
  const yours = readFiles('.', 'HEAD');
  const { claimcheck: recorded } = readJson<Package>(yours, 'package.json');
  const from = places ?? (recorded?.repository ? [recorded.repository] : []);
  if (from.length === 0) {
    throw new UserError(
      'where is the template? Add --from <git url or folder>, or "repository" to "claimcheck" in package.json',
    );
  }
  if (!list && !dryRun) assertClean();

  const template = openTemplate(from);
  if (list) return printVersions(template, recorded?.version);
  if (!recorded) {
    throw new UserError('this is not a fork: "claimcheck" is missing in package.json, which npm run init writes');
  }
  const upgrade = planUpgrade(template, recorded, yours, wanted);
  if (!upgrade) return console.log(`This is ${recorded.version} already.`);
  printChanges(upgrade);
  if (dryRun) {
    printByHand(upgrade);
    return console.log('\nNothing was changed.');
  }
  writeChanges(upgrade.changes, upgrade.packageJson);
  const left = runCommands(upgrade, checks);
  stageChanged(upgrade.changes);
  printResult(upgrade, left);
  // With --no-checks, what is left is what was asked for.
  if (hasConflict(upgrade) || (checks && left.length > 0)) throw new UserError('not ready to be committed: see above');
}

function readArgs() {
  const { values, positionals } = readArguments({
    usage: USAGE,
    words: 1,
    options: {
      // Several, if they are plain copies: each is one version.
      from: { type: 'string', multiple: true },
      list: { type: 'boolean', default: false },
      'dry-run': { type: 'boolean', default: false },
      'no-checks': { type: 'boolean', default: false },
    },
  });
  const [wanted] = positionals;
  return { wanted, places: values.from, list: values.list, dryRun: values['dry-run'], checks: !values['no-checks'] };
}

function printVersions({ versions }: Template, current: string | undefined): void {
  for (const { number, date, summary } of versions) {
    console.log(`${number}  ${date}  ${summary}${number === current ? '  (yours)' : ''}`);
  }
}

function printChanges({ from, to, changes, keptInPackage }: Upgrade): void {
  console.log(`claimcheck ${from} -> ${to}\n`);
  for (const change of changes) {
    console.log(`${change.outcome.padEnd(9)} ${change.path}${change.outcome === 'kept' ? `: ${change.why}` : ''}`);
  }
  for (const entry of keptInPackage) console.log(`kept      package.json: ${entry}`);
}

/** Returns the commands that must still be run: those that were not run, from the first that failed. */
function runCommands(upgrade: Upgrade, wanted: boolean): string[] {
  const commands = [...(upgrade.mustInstall ? ['npm install'] : []), 'npm run types', 'npm run check', 'npm test'];
  // Code with the marks of a conflict fails every check. package.json never has them.
  const possible = commands.filter((command) => wanted && (command === 'npm install' || !hasConflict(upgrade)));
  for (const command of possible) {
    console.log(`\n$ ${command}`);
    const [program = '', ...args] = command.split(' ');
    if (spawnSync(program, args, { stdio: 'inherit' }).status !== 0) break;
    commands.shift();
  }
  return commands;
}

function printByHand({ from, to, changes, byHand, mustDo }: Upgrade): void {
  const added = changes.filter(({ outcome }) => outcome === 'added').map(({ path }) => path);
  const migrations = added.filter((path) => /^drizzle\/engine\/[^/]+\.sql$/.test(path));
  if (migrations.length > 0) {
    console.log(`\nNew migrations of the engine: ${migrations.join(', ')}`);
    console.log('npm run deploy (or db:migrate) applies them. They only add, so the deployed Workers go on meanwhile.');
  }
  if (byHand) console.log(`\nThe template has changed these since ${from}. Yours were left alone:\n\n${byHand}`);
  if (mustDo) console.log(`\nYou must do (CHANGELOG.md, up to ${to}):\n\n${mustDo}`);
}

/** What has changed, what is left to do, and how to undo it. */
function printResult(upgrade: Upgrade, left: readonly string[]): void {
  const { to, changes, mustInstall } = upgrade;
  printByHand(upgrade);
  const outcomes = ['replaced', 'added', 'deleted', 'merged', 'conflict', 'kept'] as const;
  const counts = outcomes.map(
    (outcome) => `${changes.filter((change) => change.outcome === outcome).length} ${outcome}`,
  );
  console.log(`\nYour files have ${to}, and git diff --staged shows it: ${counts.join(', ')}.`);
  console.log(`To undo it: git reset --hard${mustInstall ? ' && npm ci' : ''}`);
  const conflicts = changes.filter(({ outcome }) => outcome === 'conflict').map(({ path }) => path);
  if (conflicts.length > 0) console.log(`Left to do: resolve the conflicts, and git add: ${conflicts.join(' ')}`);
  if (left.length > 0) console.log(`Left to do: ${left.join(' && ')}`);
  console.log('Then commit it.');
}

function hasConflict({ changes }: Upgrade): boolean {
  return changes.some(({ outcome }) => outcome === 'conflict');
}
