import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: ['./src/db/schema.ts', './src/app/tables.ts'],
  out: './drizzle',
  // `npm run db:migrate` and `npm run db:studio` set it (from .dev.vars when the shell has none).
  dbCredentials: { url: process.env.DATABASE_URL ?? '' },
});
