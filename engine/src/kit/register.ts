import type { ConsumerBindings } from '../shared/runtime.ts';
import type { Source } from './source.ts';

/**
 * Tells the engine's types about your app. Extend it once, in src/consumer.ts.
 *
 * @example
 * declare module 'claimcheck' {
 *   interface Register {
 *     env: ConsumerEnv;
 *     sources: typeof sources;
 *   }
 * }
 */
// biome-ignore lint/suspicious/noEmptyInterface: an app extends it, and a type can't be extended
export interface Register {}

/**
 * The variables, secrets and bindings of the consumer Worker, as `wrangler types` writes them.
 *
 * @example
 * const mailUrl = (env: ConsumerEnv) => new URL('/receipts', env.MAIL_URL);
 */
export type ConsumerEnv = Register extends { env: infer Env } ? Env : ConsumerBindings;

/**
 * The names of your sources.
 *
 * @example
 * const path = (source: SourceName) => `/webhooks/${source}`;
 */
export type SourceName = Register extends { sources: infer Sources extends Readonly<Record<string, Source>> }
  ? keyof Sources & string
  : string;
