import { createReceiver } from '../../../../src/receiver/receive.ts';
import { log } from '../../../../src/shared/log.ts';
import { SLOW_MACHINE } from '../../slow-machine.ts';
import { sources } from './sources.ts';

/** The receiver, with every provider there is. */
export default { fetch: createReceiver({ sources, now: () => new Date(), log, ...SLOW_MACHINE }).fetch };
