import { log } from '../../../../src/log.ts';
import { createReceiver } from '../../../../src/receiver/app.ts';
import { SLOW_MACHINE } from '../../slow-machine.ts';
import { sources } from './sources.ts';

/** The receiver, with every provider there is. */
export default { fetch: createReceiver({ sources, now: () => new Date(), log, ...SLOW_MACHINE }).fetch };
