import { log } from '../../../src/shared/log.ts';
import { mountedReceiver } from '../../mounted.ts';
import { SLOW_MACHINE } from '../../slow-machine.ts';
import { sources } from './sources.ts';

export default mountedReceiver({ sources, now: () => new Date(), log, ...SLOW_MACHINE });
