import { spawn } from 'node:child_process';
import { readArguments } from './local/arguments.ts';
import { requireVar } from './local/dev-vars.ts';

export default async function main(): Promise<void> {
  readArguments({});
  const env = { ...process.env, DATABASE_URL: requireVar('DATABASE_URL') };
  spawn('node_modules/.bin/drizzle-kit', ['studio'], { stdio: 'inherit', env });
}
