import { spawnSync } from 'node:child_process';
import { readArguments } from './local/arguments.ts';
import { UserError } from './local/user-error.ts';

const env = ['--include-runtime=false', '--strict-vars=false', '--env-interface'];

/** One file for the runtime, and one for what each Worker's configuration binds. */
export const types = [
  ['wrangler', 'types', 'worker-configuration.d.ts', '-c', 'wrangler.toml', '--include-env=false'],
  ['wrangler', 'types', 'src/receiver/env.d.ts', '-c', 'wrangler.toml', ...env, 'ReceiverEnv'],
  ['wrangler', 'types', 'src/consumer/env.d.ts', '-c', 'wrangler.consumer.toml', ...env, 'ConsumerEnv'],
];

export default async function main(): Promise<void> {
  readArguments({});
  for (const [program = '', ...args] of types) {
    const { status } = spawnSync(`node_modules/.bin/${program}`, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    if (status !== 0) throw new UserError(`wrangler could not generate ${args[1]}`);
  }
}
