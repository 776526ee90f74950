import { CONFIGS, WORKERS, wranglerFlags } from './config/worker-config.ts';
import { assertDatabaseOf, chosenDatabase } from './database/connect.ts';
import { createWorkerRoles } from './database/worker-roles.ts';
import { readArguments } from './lib/arguments.ts';
import { UserError } from './lib/user-error.ts';

const USAGE = `npm run db:roles [-- --env <name>] [--rotate receiver|consumer|ops] [--sql]

Creates a Postgres role for each Worker, or gives existing roles exactly the rights that this version needs.
DATABASE_URL, from the shell or otherwise from .dev.vars, is the URL of the tables' owner. The database of another
environment is refused.
  --rotate   gives this Worker's role a new password and prints its URL
  --sql      prints the statements without running them`;

/** Creates a role for each Worker, or updates the rights of existing roles for this version. */
export default async function main(): Promise<void> {
  const { values } = readArguments({
    usage: USAGE,
    options: {
      env: { type: 'string', default: '' },
      rotate: { type: 'string' },
      sql: { type: 'boolean', default: false },
    },
  });
  const rotate = WORKERS.filter((worker) => worker === values.rotate);
  if (values.rotate !== undefined && rotate.length === 0) {
    throw new UserError('--rotate takes the Worker whose role gets a new password: receiver, consumer or ops');
  }
  // With --sql, messages are SQL comments, so that the output can be run.
  const say = (text: string) => console.log(values.sql ? `-- ${text}` : text);
  const database = chosenDatabase(say);
  await assertDatabaseOf(database, values.env);
  const databaseUrl = database.href;
  const { statements, urls } = await createWorkerRoles(databaseUrl, { rotate, dryRun: values.sql });
  if (values.sql) console.log(`begin;\n${statements.join(';\n')};\ncommit;`);
  else say('the roles now have the rights that this version needs');
  for (const worker of WORKERS) {
    if (urls[worker] === undefined) continue;
    say(
      `the secret DATABASE_URL of the ${worker}: npx wrangler secret put DATABASE_URL ${wranglerFlags({ path: CONFIGS[worker], environment: values.env })}`,
    );
    say(urls[worker]);
  }
}
