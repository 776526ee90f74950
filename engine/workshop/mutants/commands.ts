import { faultsIn, type Mutant } from './mutant.ts';

/** Faults in what is run by hand. */
export const commands: readonly Mutant[] = [
  ...faultsIn(
    'engine/cli/database/rights.ts',
    ['db/roles'],
    [
      [
        'the receiver may change events that are there',
        "select: ['source', 'eventId', 'fingerprint', 'replayNumber', 'status', 'dueAt'],",
        `select: ['source', 'eventId', 'fingerprint', 'replayNumber', 'status', 'dueAt'],
    update: ['status'],`,
      ],
    ],
  ),
  ...faultsIn(
    'engine/cli/database/migrations.ts',
    ['local/migrations'],
    [
      [
        'a migration that is older than the newest one applied is skipped without a word',
        'if (!skipped) return other + startOver;',
        'if (!skipped || skipped) return other + startOver;',
      ],
    ],
  ),
  ...faultsIn(
    'engine/cli/check.ts',
    ['local/check'],
    [
      ['npm run check says ok to whatever fails', 'if (status !== 0) throw', 'if (status === null) throw'],
      ['npm run check says ok to a program that is killed', 'if (status !== 0) throw', 'if (status) throw'],
      [
        'npm run check looks at no environment but the first',
        'environments.map((each) => assertConfigured(',
        'environments.slice(0, 1).map((each) => assertConfigured(',
      ],
      ['npm run check does not compile', "await part(run('types', ['tsc', '-p', '.']));", ''],
      [
        'npm run check builds only the receiver',
        `if (config) await part(run(\`the \${worker} builds\``,
        `if (worker === 'receiver') await part(run(\`the \${worker} builds\``,
      ],
      [
        'npm run check does not compare the tables with their migrations',
        "await part(step('drizzle matches your tables', assertMigrated));",
        '',
      ],
    ],
  ),
  ...faultsIn(
    'engine/cli/database/additive.ts',
    ['local/migrations'],
    [
      [
        'as long as the app has no migrations, those of the engine are not judged',
        'if (applied.length === 0) continue;',
        'if (applied.length === 0) return [];',
      ],
    ],
  ),
  ...faultsIn(
    'engine/cli/roles.ts',
    ['local/roles-command'],
    [
      [
        'the command for a secret of an environment names the Worker without one',
        'environment: values.env })',
        "environment: '' })",
      ],
    ],
  ),
  ...faultsIn(
    'engine/cli/database/connect.ts',
    ['local/migrations'],
    [["migrations go through Neon's pooler, which drops their lock", 'url.hostname = direct(url.hostname);', '']],
  ),
];
