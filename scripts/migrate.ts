import { requireVar } from './local/dev-vars.ts';
import { migrate } from './local/migrations.ts';

export default async function main(): Promise<void> {
  await migrate(requireVar('DATABASE_URL'));
  console.log('the database is up to date');
}
