import { github } from '../../src/providers/github.ts';
import { log } from '../../src/shared/log.ts';
import { mountedReceiver } from '../mounted.ts';
import { SLOW_MACHINE } from '../slow-machine.ts';

const sources = { code: { provider: github, types: '*', tenants: true } } as const;

export default { fetch: mountedReceiver({ sources, now: () => new Date(), log, ...SLOW_MACHINE }).fetch };
