import { defineConfig } from 'drizzle-kit';

/**
 * The engine's migrations: `npx drizzle-kit generate --config workshop/engine.drizzle.config.ts`. `drizzle.config.ts` is the
 * app's. Both journals are in the schema "drizzle" (scripts/database/migrations.ts).
 */
export default defineConfig({
  dialect: 'postgresql',
  schema: './src/db/schema.ts',
  out: './drizzle/engine',
});
