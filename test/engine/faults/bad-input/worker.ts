import { createReceiver } from '../../../../src/receiver/receive.ts';
import { log } from '../../../../src/shared/log.ts';
import { SLOW_MACHINE } from '../../slow-machine.ts';
import { sources } from './sources.ts';

export default createReceiver({ sources, now: () => new Date(), log, ...SLOW_MACHINE });
