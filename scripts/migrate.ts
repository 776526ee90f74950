import { readArguments } from './local/arguments.ts';
import { databaseUrlOf, requireVar } from './local/dev-vars.ts';
import { migrate } from './local/migrations.ts';

export default async function main(): Promise<void> {
  readArguments({});
  await migrate(databaseUrlOf(requireVar('DATABASE_URL')).href);
  console.log('the database is up to date');
}
