import { spawn } from 'node:child_process';
import { chosenDatabase } from './database/connect.ts';
import { readArguments } from './lib/arguments.ts';

export default async function main(): Promise<void> {
  readArguments({});
  const env = { ...process.env, DATABASE_URL: chosenDatabase().href };
  spawn('node_modules/.bin/drizzle-kit', ['studio'], { stdio: 'inherit', env });
}
