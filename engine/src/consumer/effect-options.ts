import type { Effect } from '../kit/index.ts';
import { isStorableText } from '../shared/text.ts';

/** An event is kept until its effects are sent. What is for months later belongs in a table of the app. */
const MAX_LATER_SECONDS = 30 * 86_400;

/** An entry of an index in Postgres has room for 2,704 bytes, with the source and the kind. */
const MAX_KEY_LENGTH = 255;

/** When an effect is to be sent. An invalid Date if that can't be said. */
export function timeOf({ after, at }: Effect['options'], now: Date): Date {
  if (at !== undefined) return at instanceof Date ? at : new Date(Number.NaN);
  return after === undefined ? now : new Date(after >= 0 ? now.getTime() + after * 1000 : Number.NaN);
}

/** The end of a sentence about an effect that can't be sent as it was asked for. */
export function problemOfOptions(options: Effect['options'], now: Date): string | undefined {
  if (options.key !== undefined && problemOfKey(options.key)) return `has a key that ${problemOfKey(options.key)}`;
  const seconds = (timeOf(options, now).getTime() - now.getTime()) / 1000;
  if (Number.isNaN(seconds)) return 'has an invalid time: `after` takes seconds from 0 up, and `at` a Date';
  return seconds > MAX_LATER_SECONDS ? 'is for more than 30 days later' : undefined;
}

export function problemOfKey(key: unknown): string | undefined {
  const isKey = isStorableText(key) && key.length > 0 && key.length <= MAX_KEY_LENGTH;
  return isKey ? undefined : `is not a text of 1 to ${MAX_KEY_LENGTH} characters`;
}
