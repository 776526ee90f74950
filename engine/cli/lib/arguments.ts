import { type ParseArgsConfig, parseArgs } from 'node:util';
import { UserError } from './user-error.ts';

interface Usage {
  /** What `--help` prints. */
  readonly usage?: string;
  /** How many positional arguments the command takes. Default: none. */
  readonly words?: number;
  /** The exit code for wrong arguments. */
  readonly exitCode?: number;
}

type Arguments<Config extends ParseArgsConfig> = ReturnType<typeof parseArgs<Config & { allowPositionals: true }>>;

/** npm has options with these names itself, so they may be meant for npm. */
const OF_NPM = ['help', 'json', 'yes', 'dry-run'];

/** Reads the command line. `--help` only prints the usage. Anything unknown is refused with one line. */
export function readArguments<const Config extends ParseArgsConfig & Usage>(config: Config): Arguments<Config> {
  const options = { ...config.options, help: { type: 'boolean' } } as const;
  const known = `its options are ${Object.keys(options)
    .map((name) => `--${name}`)
    .join(', ')}`;
  for (const name of Object.keys(options)) {
    const isTaken = process.env[`npm_config_${name.replaceAll('-', '_')}`] !== undefined && !OF_NPM.includes(name);
    if (isTaken)
      throw new UserError(
        `npm has taken --${name} for itself: write -- before the options, as in npm run … -- --${name}`,
        config.exitCode,
      );
  }
  try {
    const parsed = parseArgs({ ...config, allowPositionals: true, options });
    const extra = parsed.positionals[config.words ?? 0];
    if (extra !== undefined) throw new UserError(`unexpected argument ${extra}: ${known}`, config.exitCode);
    if (!Reflect.get(parsed.values, 'help')) return parsed as Arguments<Config>;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // Node's own message also explains `--`, which our commands don't use.
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
      throw new UserError(`there is no option ${/'(.+?)'/.exec(message)?.[1]}: ${known}`, config.exitCode);
    }
    throw new UserError(message, config.exitCode);
  }
  console.log(config.usage ?? known);
  process.exit();
}

export function wholeNumber(name: string, text: string, exitCode?: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new UserError(`--${name} takes a whole number from 1`, exitCode);
}
