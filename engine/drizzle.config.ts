import { defineConfig } from 'drizzle-kit';

/**
 * The engine's migrations: `npx drizzle-kit generate --config engine/drizzle.config.ts`. `drizzle.config.ts` is the
 * app's. Both journals are in the schema "drizzle" (cli/database/migrations.ts).
 */
export default defineConfig({
  dialect: 'postgresql',
  schema: './engine/src/db/schema.ts',
  out: './engine/drizzle',
});
