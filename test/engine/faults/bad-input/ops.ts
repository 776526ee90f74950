import { createOps } from '../../../../src/ops/app.tsx';
import { log } from '../../../../src/shared/log.ts';
import { sources } from './sources.ts';

const ops = createOps({ sources, now: () => new Date(), log });
const access = { aud: 'local', getIdentity: async () => ({ email: 'you@localhost' }) };

/** At localhost everybody is let in, as in `npm run dev`. At all other hosts it asks for the token. */
export default {
  fetch(request, env, context) {
    if (new URL(request.url).hostname !== 'localhost') return ops.fetch(request, env, context);
    const { OPS_TOKEN, ...others } = env;
    return ops.fetch(request, others, { access } as unknown as ExecutionContext);
  },
} satisfies ExportedHandler<OpsEnv & { OPS_TOKEN: string }>;
