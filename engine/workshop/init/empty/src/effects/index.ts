// YOURS: calls to the outside. One file per effect, and one line here.

import { defineEffects } from 'claimcheck';

export const { effects, effect } = defineEffects({});
