import type { StandardSchemaV1 } from '@standard-schema/spec';

/**
 * A schema that checks nothing and gives `event.data` a type, such as one of the sender's SDK. If the sender
 * sends something else, your code gets it: a missing property is `undefined` whatever the type says, and an integer
 * beyond 2^53 is a string. A real schema would park such an event with the path that failed.
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
