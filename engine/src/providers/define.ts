import type { Placeholder, Provider, ProviderData } from './types.ts';

/**
 * Describes a provider. A typo in a template, such as `{haeder:x}` or a missing brace, and an unknown property are
 * compile errors at the typo itself. Nothing is checked at run time.
 *
 * @example
 * export const shop = defineProvider({
 *   name: 'shop',
 *   docs: 'Our own shop: hex HMAC-SHA256 of the body in X-Shop-Signature.',
 *   scheme: { signature: 'header:x-shop-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
 *   id: { at: '{json:id}', signed: true },
 *   type: ['{json:type}'],
 * });
 */
export function defineProvider<const Data extends ProviderData>(
  // If the data has a completely wrong shape, TypeScript infers plain `ProviderData`, and its own error is enough.
  data: Data & (ProviderData extends Data ? unknown : CheckTexts<Data> & RefuseUnknown<Data, ProviderData>),
): Provider {
  // The brand exists only in the types.
  return data as ProviderData as Provider;
}

/**
 * Carries the error message for a wrong template. No string has this property, so tsc refuses the string and shows the
 * message.
 */
interface Mistake<Words> {
  readonly mistake: Words;
}

/**
 * Checks every text in the data. A wrong text becomes a `Mistake`; everything else becomes `unknown`, which accepts
 * anything. `Key` is the name of the property that holds the data. For every template inside `id`, it is `id`.
 */
export type CheckTexts<Data, Key = ''> = Data extends string
  ? CheckTemplate<Data> & (Key extends 'id' | 'signed' ? RequirePlace<Data> : unknown)
  : Data extends RegExp | ((...args: never) => unknown)
    ? unknown
    : Data extends object
      ? {
          readonly [Name in keyof Data]: CheckTexts<
            Data[Name],
            Name extends 'bodiesRepeat' ? Name : Key extends 'id' ? 'id' : Data extends readonly unknown[] ? Key : Name
          >;
        }
      : unknown;

/**
 * A `Mistake` for every unknown property. TypeScript doesn't report these in generic data, and a misspelt optional
 * property, such as `timestmap`, would silently disable a check.
 */
export type RefuseUnknown<Data, Shape> = Data extends string | number | boolean | RegExp | ((...args: never) => unknown)
  ? unknown
  : Data extends readonly unknown[]
    ? { readonly [Index in keyof Data]: RefuseUnknown<Data[Index], ItemOf<Shape>> }
    : Data extends object
      ? {
          readonly [Name in keyof Data]: Name extends NamesOf<Shape>
            ? RefuseUnknown<Data[Name], ValueOf<Shape, Name>>
            : Mistake<`there is no property ${Name & string}`>;
        }
      : unknown;

// Each of these types distributes over a union, because a scheme is one of several shapes.
type NamesOf<Shape> = Shape extends unknown ? keyof Shape : never;
type ValueOf<Shape, Name> = Shape extends unknown ? (Name extends keyof Shape ? Shape[Name] : never) : never;
type ItemOf<Shape> = Shape extends readonly (infer Item)[] ? Item : never;

/** Removes the placeholders one by one. Any remaining brace is a mistake. */
type CheckTemplate<Text extends string> = Text extends `${infer Before}{${infer Inside}}${infer After}`
  ? Inside extends Placeholder
    ? CheckTemplate<`${Before}${After}`>
    : Mistake<`{${Inside}} is not a place`>
  : Text extends `${string}${'{' | '}'}${string}`
    ? Mistake<'a brace is missing'>
    : unknown;

/**
 * An id or a signed text without a place would be the same for every delivery, as when `json:id` is written instead of
 * `{json:id}`.
 */
type RequirePlace<Text extends string> = string extends Text
  ? unknown
  : Text extends `${string}{${string}}${string}`
    ? unknown
    : Mistake<`"${Text}" has no place in braces`>;
