import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { CONFIGS } from './config/worker-config.ts';
import { folderOf } from './lib/app.ts';
import { readArguments } from './lib/arguments.ts';
import { UserError } from './lib/user-error.ts';

/** Generates only a Worker's bindings, because the runtime's types come from @cloudflare/workers-types. */
const only = (env: string) => ['--include-runtime=false', '--strict-vars=false', '--env-interface', env];

export const types = () => [
  ['wrangler', 'types', 'worker-configuration.d.ts', '-c', CONFIGS.receiver, ...only('Env')],
  ['wrangler', 'types', 'worker-configuration.consumer.d.ts', '-c', CONFIGS.consumer, ...only('ConsumerEnv')],
  ...(existsSync(CONFIGS.ops)
    ? [['wrangler', 'types', 'worker-configuration.ops.d.ts', '-c', CONFIGS.ops, ...only('OpsEnv')]]
    : []),
];

const USAGE = `npm run types

Writes the types of what the wrangler files bind.`;

export default async function main(): Promise<void> {
  readArguments({ usage: USAGE });
  writeTypes();
}

export function writeTypes(): void {
  for (const [program = '', ...args] of types()) {
    const { status } = spawnSync(folderOf(`.bin/${program}`), args, {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    if (status !== 0) throw new UserError(`${args[1]} could not be generated: see above`);
  }
}
