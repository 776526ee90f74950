import { chosenDatabase } from './database/connect.ts';
import { migrate } from './database/migrations.ts';
import { readArguments } from './lib/arguments.ts';

const USAGE = `npm run db:migrate

Applies the migrations that are missing: first the engine's, then yours.
DATABASE_URL, from the shell or else from .dev.vars, is that of the owner of the tables.`;

export default async function main(): Promise<void> {
  readArguments({ usage: USAGE });
  await migrate(chosenDatabase().href);
  console.log('the database is up to date');
}
