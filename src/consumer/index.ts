import { handlers } from '../app/handlers/index.ts';
import { log } from '../log.ts';
import { createConsumer } from './worker.ts';

export default createConsumer({ handlers, now: () => new Date(), log });
