import { commands } from './commands.ts';
import { consumer } from './consumer.ts';
import { keys } from './keys.ts';
import type { Mutant } from './mutant.ts';
import { ops } from './ops.ts';
import { receiver } from './receiver.ts';
import { verification } from './verification.ts';

/** Every fault that `npm run -w engine mutants` tries. */
export const mutants: readonly Mutant[] = [...verification, ...keys, ...receiver, ...consumer, ...ops, ...commands];
