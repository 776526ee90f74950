import { createConsole } from '../../../../src/console/index.tsx';
import { log } from '../../../../src/log.ts';
import { createReceiver } from '../../../../src/receiver/app.ts';
import { SLOW_MACHINE } from '../../slow-machine.ts';
import { sources } from './sources.ts';

const app = createReceiver({ sources, now: () => new Date(), log, createConsole, ...SLOW_MACHINE });

/** These tests send more than the limits of a deployed Worker allow. */
const allowing = { limit: async () => ({ success: true }) };

/** The console is open for the host localhost, as in `npm run dev`. For all other hosts it asks for the token. */
export default {
  fetch(request, env, context) {
    const { OPS_TOKEN, ...others } = env;
    const isOpen = new URL(request.url).hostname === 'localhost';
    const bindings = { ...others, ...(isOpen ? {} : { OPS_TOKEN }), OPS_SIGN_INS: allowing, OPS_REQUESTS: allowing };
    return app.fetch(request, bindings as unknown as ReceiverEnv, context);
  },
} satisfies ExportedHandler<ReceiverEnv & { OPS_TOKEN: string }>;
