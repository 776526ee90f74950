import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { CONFIGS } from './config/worker-config.ts';
import { readArguments } from './lib/arguments.ts';
import { UserError } from './lib/user-error.ts';

/** Only what the configuration of a Worker binds: the runtime's types are in worker-configuration.d.ts already. */
const only = (env: string) => ['--include-runtime=false', '--strict-vars=false', '--env-interface', env];

/** The first is what plain `npx wrangler types` writes: the runtime's types, and the receiver's `Env`. */
export const types = [
  ['wrangler', 'types', 'worker-configuration.d.ts'],
  ['wrangler', 'types', 'worker-configuration.consumer.d.ts', '-c', CONFIGS.consumer, ...only('ConsumerEnv')],
  ...(existsSync(CONFIGS.ops)
    ? [['wrangler', 'types', 'worker-configuration.ops.d.ts', '-c', CONFIGS.ops, ...only('OpsEnv')]]
    : []),
];

const USAGE = `npm run types [-- --check]

Writes the types of the runtime and of what the wrangler files bind.
  --check   writes nothing, and says which file is not up to date`;

/** Writes the generated types, or with --check says which is not up to date. */
export default async function main(): Promise<void> {
  const { values } = readArguments({ usage: USAGE, options: { check: { type: 'boolean', default: false } } });
  writeTypes(values.check);
}

export function writeTypes(check = false): void {
  for (const [program = '', ...args] of types) {
    const { status } = spawnSync(`node_modules/.bin/${program}`, check ? [...args, '--check'] : args, {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const failure = check ? 'is not up to date: run npm run types' : 'could not be generated: see above';
    if (status !== 0) throw new UserError(`${args[1]} ${failure}`);
  }
}
