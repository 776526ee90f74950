// The Worker of long-work.test.ts: a Workflow, and the effect of docs/patterns.md that starts it.
import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from 'cloudflare:workers';
import { exportData } from './patterns.ts';

let runs = 0;

export class Exports extends WorkflowEntrypoint<ConsumerEnv, { account: string }> {
  override async run({ payload, instanceId }: WorkflowEvent<{ account: string }>, step: WorkflowStep) {
    return step.do('export', async () => ({ account: payload.account, key: instanceId, runs: ++runs }));
  }
}

export default {
  /** `POST` sends the effect, `GET` says what became of its Workflow. */
  async fetch(request: Request, env: ConsumerEnv): Promise<Response> {
    const key = new URL(request.url).pathname.slice(1);
    if (request.method === 'GET') return Response.json(await (await env.EXPORTS.get(key)).status());
    return exportData.send({ account: 'a' } as never, { key, env, fetch, signal: request.signal });
  },
};
