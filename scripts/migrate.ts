import { chosenDatabase } from './database/connect.ts';
import { migrate } from './database/migrations.ts';
import { readArguments } from './lib/arguments.ts';

export default async function main(): Promise<void> {
  readArguments({});
  await migrate(chosenDatabase().href);
  console.log('the database is up to date');
}
