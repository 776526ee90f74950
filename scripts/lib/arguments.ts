import { type ParseArgsConfig, parseArgs } from 'node:util';
import { UserError } from './user-error.ts';

/** Reads the command line of a script. Anything that the script doesn't know is refused with one line. */
export function readArguments<const Config extends ParseArgsConfig>(
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const known = Object.keys(config.options ?? {}).map((name) => `--${name}`);
    const options = known.length > 0 ? `its options are ${known.join(', ')}` : 'it has no options';
    // Node's own sentence for these two also explains `--`, which our scripts don't use.
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
      throw new UserError(`there is no option ${/'(.+?)'/.exec(message)?.[1]}: ${options}`);
    }
    if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') {
      throw new UserError(`unexpected argument ${/'(.+?)'/.exec(message)?.[1]}: ${options}`);
    }
    throw new UserError(message);
  }
}
