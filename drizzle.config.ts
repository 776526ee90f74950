import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { defineConfig } from 'drizzle-kit';

/** For drizzle-kit: `npm run db:generate`, `npx drizzle-kit studio`. Without a DATABASE_URL in the shell, it is that of `npm run dev`. */
const local = existsSync('.dev.vars') ? parseEnv(readFileSync('.dev.vars', 'utf8')) : {};

export default defineConfig({
  dialect: 'postgresql',
  schema: './src/tables.ts',
  out: './drizzle',
  // Where npm run db:migrate records them, so that it goes on after a plain npx drizzle-kit migrate.
  migrations: { schema: 'drizzle', table: 'app_migrations' },
  dbCredentials: { url: process.env.DATABASE_URL ?? local.DATABASE_URL ?? '' },
});
