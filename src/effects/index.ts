// YOURS: calls to the outside. One file per effect, and one line here.
import { defineEffects } from 'claimcheck';
import { receipt } from './receipt.ts';

export const { effects, effect } = defineEffects({ receipt });
