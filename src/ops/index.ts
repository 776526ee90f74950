import { sources } from '../app/sources.ts';
import { log } from '../shared/log.ts';
import { createOps } from './app.tsx';

export default createOps({ sources, now: () => new Date(), log });
