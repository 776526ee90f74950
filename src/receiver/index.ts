import { sources } from '../app/sources.ts';
import { log } from '../shared/log.ts';
import { createReceiver } from './receive.ts';

export default createReceiver({ sources, now: () => new Date(), log });
