import type { StandardSchemaV1 } from '@standard-schema/spec';

/**
 * A schema that checks nothing, and gives `event.data` a type that you have from the sender, as from its SDK. If the sender
 * sends something else, your code sees it: a property that is missing is `undefined` whatever the type says, and an integer
 * beyond 2^53 is a string. A schema would park such an event with the path that failed.
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
