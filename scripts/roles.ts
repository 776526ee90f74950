import { CONFIGS, WORKERS } from './config/worker-config.ts';
import { chosenDatabase } from './database/connect.ts';
import { createWorkerRoles } from './database/worker-roles.ts';
import { readArguments } from './lib/arguments.ts';
import { UserError } from './lib/user-error.ts';

const USAGE = `npm run db:roles [-- --rotate receiver|consumer|ops] [-- --sql]

Creates a role in Postgres for each Worker, or gives those that exist exactly the rights that this version needs.
DATABASE_URL, from the shell or else from .dev.vars, is that of the owner of the tables.
  --rotate   gives the role of this Worker a new password, and prints its URL
  --sql      changes nothing, and prints the statements`;

/** Creates a role for each Worker, or gives those that exist the rights that this version needs. */
export default async function main(): Promise<void> {
  const { values } = readArguments({
    usage: USAGE,
    options: { rotate: { type: 'string' }, sql: { type: 'boolean', default: false } },
  });
  const rotate = WORKERS.filter((worker) => worker === values.rotate);
  if (values.rotate !== undefined && rotate.length === 0) {
    throw new UserError('--rotate takes the Worker whose role gets a new password: receiver, consumer or ops');
  }
  // With --sql, the output can be run as it is.
  const say = (text: string) => console.log(values.sql ? `-- ${text}` : text);
  const databaseUrl = chosenDatabase(say).href;
  const { statements, urls } = await createWorkerRoles(databaseUrl, { rotate, dryRun: values.sql });
  if (values.sql) console.log(`begin;\n${statements.join(';\n')};\ncommit;`);
  else say('the roles have the rights that this version needs');
  for (const worker of WORKERS) {
    if (urls[worker] === undefined) continue;
    say(`the secret DATABASE_URL of the ${worker}: npx wrangler secret put DATABASE_URL -c ${CONFIGS[worker]}`);
    say(urls[worker]);
  }
}
