import { type ParseArgsConfig, parseArgs } from 'node:util';
import { UserError } from './user-error.ts';

interface Usage {
  /** What `--help` prints. */
  readonly usage?: string;
}

/**
 * Reads the command line of a script. With `--help`, the script only says how it is used. Anything that it doesn't know is
 * refused with one line.
 */
export function readArguments<const Config extends ParseArgsConfig & Usage>(
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  const options = { ...config.options, help: { type: 'boolean' } } as const;
  const known = `its options are ${Object.keys(options)
    .map((name) => `--${name}`)
    .join(', ')}`;
  try {
    const parsed = parseArgs({ ...config, options });
    if (!Reflect.get(parsed.values, 'help')) return parsed as ReturnType<typeof parseArgs<Config>>;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // Node's own sentence for these two also explains `--`, which our scripts don't use.
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
      throw new UserError(`there is no option ${/'(.+?)'/.exec(message)?.[1]}: ${known}`);
    }
    if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') {
      throw new UserError(`unexpected argument ${/'(.+?)'/.exec(message)?.[1]}: ${known}`);
    }
    throw new UserError(message);
  }
  console.log(config.usage ?? known);
  process.exit();
}
