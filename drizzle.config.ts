import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: './src/app/tables.ts',
  out: './drizzle/app',
  // `npm run db:studio` sets it (from .dev.vars when the shell has none).
  dbCredentials: { url: process.env.DATABASE_URL ?? '' },
});
