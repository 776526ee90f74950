import { type ParseArgsConfig, parseArgs } from 'node:util';
import { UserError } from './user-error.ts';

interface Usage {
  /** What `--help` prints. */
  readonly usage?: string;
  /** How many words that are not options it takes. Default: none. */
  readonly words?: number;
  /** What the command ends with if it refuses its arguments. */
  readonly exitCode?: number;
}

type Parsed<Config extends ParseArgsConfig> = ReturnType<typeof parseArgs<Config & { allowPositionals: true }>>;

/** npm knows these itself, so somebody may have set them for npm. */
const OF_NPM = ['help', 'json', 'yes', 'dry-run'];

/**
 * Reads the command line of a script. With `--help`, the script only says how it is used. Anything that it doesn't know is
 * refused with one line.
 */
export function readArguments<const Config extends ParseArgsConfig & Usage>(config: Config): Parsed<Config> {
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
    if (!Reflect.get(parsed.values, 'help')) return parsed as Parsed<Config>;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // Node's own sentence also explains `--`, which our scripts don't use.
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
