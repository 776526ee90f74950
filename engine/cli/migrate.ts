import { assertDatabaseOf, chosenDatabase } from './database/connect.ts';
import { migrate } from './database/migrations.ts';
import { readArguments } from './lib/arguments.ts';

const USAGE = `npm run db:migrate [-- --env <name>]

Applies missing migrations: first the engine's, then yours.
DATABASE_URL, from the shell or otherwise from .dev.vars, is the URL of the tables' owner. The database of another
environment is refused.`;

export default async function main(): Promise<void> {
  const { values } = readArguments({ usage: USAGE, options: { env: { type: 'string', default: '' } } });
  const url = chosenDatabase();
  await assertDatabaseOf(url, values.env);
  await migrate(url.href);
  console.log('the database is up to date');
}
