import { existsSync } from 'node:fs';
import { answers } from '../../src/app/samples.ts';
import { sources } from '../../src/app/sources.ts';
import { CONFIGS } from '../config/worker-config.ts';
import type { Outside } from './outside.ts';
import { type Stack, startStack } from './stack.ts';
import { startWorkers, type Workers } from './workers.ts';

/** Your app on throw-away data: Postgres, the Neon endpoint, the stand-in for the outside, and the Workers. */
export interface RunningApp {
  readonly stack: Stack;
  readonly workers: Workers;
  stop(): Promise<void>;
}

export async function startApp(): Promise<RunningApp> {
  const stack = await startStack();
  try {
    answerAsApp(stack.outside);
    const { ops, ...configs } = CONFIGS;
    const workers = await startWorkers(stack, { sources, ...configs, ops: existsSync(ops) ? ops : undefined });
    const stop = async () => {
      await workers.harness.close();
      await stack.stop();
    };
    return { stack, workers, stop };
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

/** Lets the stand-in answer what src/app/samples.ts says. */
export function answerAsApp(outside: Outside): void {
  outside.answer = (request) => ({ json: answers(request) });
}
