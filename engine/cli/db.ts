import { DEV_VARS, ensureDevVars, ownDatabase } from './config/dev-vars.ts';
import { listed, readConfigs } from './config/worker-config.ts';
import { describeDatabase } from './database/connect.ts';
import { loadSources } from './lib/app.ts';
import { readArguments } from './lib/arguments.ts';
import { untilStopped } from './lib/processes.ts';
import { startDatabase } from './local/stack.ts';

const USAGE = `npm run db [-- --fresh]

Runs PostgreSQL and the Neon endpoint alone, for plain npx wrangler dev, until Ctrl-C.
  --fresh   starts over with an empty database`;

/**
 * Runs only the local database until Ctrl-C, for plain `npx wrangler dev`. Wrangler reads `.dev.vars`, which this
 * command makes. In that file all Workers share the owner's DATABASE_URL; with `npm run dev`, each has its own role.
 */
export default async function main(): Promise<void> {
  const { values } = readArguments({ usage: USAGE, options: { fresh: { type: 'boolean', default: false } } });
  await untilStopped(async ({ ends, isStopping }) => {
    const workers = listed(readConfigs());
    const { vars, added } = await ensureDevVars(await loadSources(), workers);
    if (added.length > 0) console.log(`${DEV_VARS}: added ${added.join(', ')}`);
    const url = ownDatabase(vars.DATABASE_URL);
    if (isStopping()) return;
    const database = await startDatabase({ dataDir: '.data/postgres', databaseUrl: url.href, fresh: values.fresh });
    ends.defer(() => database.stop());
    console.log(
      `the outside  plain wrangler calls the real URLs in [vars]. A line with a URL's name in ${DEV_VARS} replaces it. A secret whose name ends in _URL needs such a line`,
    );
    const configs = workers.map(({ path }) => `-c ${path}`).join(' ');
    console.log(
      `ready        ${describeDatabase(url)}, the DATABASE_URL in ${DEV_VARS}; in another terminal: npx wrangler dev ${configs}`,
    );
  });
}
