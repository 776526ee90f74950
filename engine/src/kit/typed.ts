import type { StandardSchemaV1 } from '@standard-schema/spec';

/**
 * Gives `event.data` a type without checking it, such as a type from the sender's SDK. If the data doesn't match, your
 * handler receives it anyway: a missing property is `undefined` whatever the type says, and an integer beyond 2^53 is a
 * string. A real schema parks such an event with the path that failed.
 *
 * @example
 * export const invoicePaid = defineHandler({
 *   schema: typed<{ readonly email: string; readonly cents: number }>(),
 *   handle: ({ data: { email, cents } }) => [effect('receipt', { to: email, cents })],
 * });
 */
export function typed<Data>(): StandardSchemaV1<Data> {
  return { '~standard': { version: 1, vendor: 'claimcheck', validate: (value) => ({ value: value as Data }) } };
}
