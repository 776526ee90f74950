import { spawnSync } from 'node:child_process';
import type { WorkerConfig, WorkerConfigs, WorkerKind } from '../config/worker-config.ts';
import { UserError } from '../lib/user-error.ts';
import { defineAppLines } from '../ops/decode.ts';
import { runWrangler, type WranglerResult } from './wrangler.ts';

/**
 * The consumer first, so that what the new receiver writes into the queues is understood from its first message. The ops
 * Worker depends on nobody, and may be missing.
 */
export const ORDER: readonly WorkerKind[] = ['consumer', 'receiver', 'ops'];

export const GOING_BACK = 'docs/deploy.md, Roll back';

/** Marks the Workers of one deploy. */
export interface Release {
  /** `2026-11-19T14:03:12Z`, by which a person finds the versions that belong together. */
  readonly tag: string;
  readonly commit: string;
}

export function newRelease(): Release {
  const args = ['describe', '--always', '--exclude=*', '--dirty= with uncommitted changes'];
  const { stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return { tag: `${new Date().toISOString().slice(0, 19)}Z`, commit: stdout?.trim() || 'unknown commit' };
}

/** `secrets` is a file with those that the Worker gets with its code. */
export function deployWorker(
  config: WorkerConfig,
  { tag, commit }: Release,
  { secrets, show = false }: { readonly secrets?: string; readonly show?: boolean } = {},
): Promise<WranglerResult> {
  const args = ['deploy', '--tag', tag, '--message', commit, ...(secrets ? ['--secrets-file', secrets] : [])];
  // Only the consumer works queues, and runs the code of src.
  if (config.consumes.length > 0) args.push(...defineAppLines());
  return runWrangler(args, { config, show });
}

export async function deployWorkers(configs: WorkerConfigs): Promise<void> {
  const release = newRelease();
  const done: WorkerKind[] = [];
  for (const worker of ORDER) {
    const config = configs[worker];
    if (!config) continue;
    const { isDone } = await deployWorker(config, release, { show: true });
    if (!isDone)
      throw new UserError(
        `the Worker ${config.name} was not deployed: wrangler says above why. ${stateAfterFailure(done)}`,
      );
    done.push(worker);
  }
}

function stateAfterFailure(deployed: readonly WorkerKind[]): string {
  if (deployed.length === 0) return 'No Worker has changed';
  return `Already deployed: ${deployed.join(' and ')}. What is new works with what is old: run this again, or go back (${GOING_BACK})`;
}
