import type { WorkerKind } from '../src/db/rights.ts';
import { readArguments } from './local/arguments.ts';
import { CONSUMER_CONFIG, RECEIVER_CONFIG } from './local/config.ts';
import { databaseUrlOf, requireVar } from './local/dev-vars.ts';
import { WORKERS } from './local/grants.ts';
import { UserError } from './local/user-error.ts';
import { createWorkerRoles } from './local/worker-roles.ts';

const CONFIGS: Readonly<Record<WorkerKind, string>> = { receiver: RECEIVER_CONFIG, consumer: CONSUMER_CONFIG };

/** Creates a role for each Worker, or gives those that exist the rights that this version needs. */
export default async function main(): Promise<void> {
  const { values } = readArguments({
    options: { rotate: { type: 'string' }, sql: { type: 'boolean', default: false } },
  });
  const rotate = WORKERS.filter((worker) => worker === values.rotate);
  if (values.rotate !== undefined && rotate.length === 0) {
    throw new UserError('--rotate takes the Worker whose role gets a new password: receiver or consumer');
  }
  const databaseUrl = databaseUrlOf(requireVar('DATABASE_URL')).href;
  const { statements, urls } = await createWorkerRoles(databaseUrl, { rotate, dryRun: values.sql });
  // With --sql, the output can be run as it is.
  const say = (text: string) => console.log(values.sql ? `-- ${text}` : text);
  if (values.sql) console.log(`begin;\n${statements.join(';\n')};\ncommit;`);
  else say('both roles have the rights that this version needs');
  for (const worker of WORKERS) {
    if (urls[worker] === undefined) continue;
    say(`the secret DATABASE_URL of the ${worker}: npx wrangler secret put DATABASE_URL -c ${CONFIGS[worker]}`);
    say(urls[worker]);
  }
}
