import { readArguments } from '../cli/lib/arguments.ts';
import { UserError } from '../cli/lib/user-error.ts';
import { measure, RATIOS } from './aims.ts';
import { checkFigures, ratioTable, writeFigures } from './figures.ts';
import type { Form, Part } from './parts.ts';
import { type MeasuredPart, type Results, readResults, thisMachine, toPart, writeResults } from './results.ts';

const USAGE = 'npm run -w engine bench -- [--short | --long] [part …]';

/**
 * Measures the figures in engine/bench/scale.md and writes them there: all parts except very long ones, or with `--long` only
 * those. `--short` only shows that everything works, and writes nothing. Named parts replace the same parts of the last
 * run, if it was on this machine with the same versions.
 */
export default async function main(): Promise<void> {
  const { values, positionals: names } = readArguments({
    words: Number.POSITIVE_INFINITY,
    options: {
      short: { type: 'boolean', default: false },
      long: { type: 'boolean', default: false },
      figures: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
    },
  });
  if (values.check) return checkFigures();
  const published = readResults();
  if (values.figures) {
    if (!published) throw new UserError('there is no engine/bench/results.json: run npm run -w engine bench');
    return writeFigures(published);
  }
  if (values.short && values.long) throw new UserError(USAGE);
  const form = values.short ? 'short' : values.long ? 'long' : 'default';

  // Without this, a signal would end the process before its children.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  // Loaded late, because loading takes too long for --help and --check.
  const { parts } = await import('./parts.ts');
  const before = kept(published, parts);
  const needsOthers = form === 'long' || (form === 'default' && names.length > 0);
  if (needsOthers && Object.keys(before).length === 0) {
    throw new UserError(
      'engine/bench/results.json is of another machine or other versions: run npm run -w engine bench first',
    );
  }
  const measured = await run(parts, form, names);
  const results = { ...thisMachine(), parts: measured };
  console.log(`\n${ratioTable(results, [...RATIOS.default, ...RATIOS.long]).join('\n')}`);
  if (form === 'short') return;

  const all = { ...results, parts: { ...before, ...measured } };
  writeResults(all);
  writeFigures(all);
  console.log(
    '\nwrote engine/bench/results.json, and from it the tables of engine/bench/scale.md and docs/costs.md. README.md has figures written by hand',
  );
  if (names.length > 0) return;
  // A row may have been renamed. Checked after the results are written, because they took a quarter of an hour.
  const missing = RATIOS[form].filter((ratio) => !measure(ratio, results));
  if (missing.length > 0) throw new UserError(`not measured: ${missing.map(({ title }) => title).join('; ')}`);
}

async function run(
  parts: Readonly<Record<string, Part>>,
  form: Form,
  names: readonly string[],
): Promise<Record<string, MeasuredPart>> {
  const unknown = names.filter((name) => !(name in parts));
  if (unknown.length > 0)
    throw new UserError(`there is no part ${unknown.join(', ')}, but ${Object.keys(parts).join(', ')}`);
  const benches = Object.entries(parts).flatMap(([name, forms]) => {
    const bench = forms[form];
    return bench && (names.length === 0 || names.includes(name)) ? [{ name, bench }] : [];
  });
  if (benches.length === 0) throw new UserError(`the ${form} form has no part ${names.join(', ')}`);
  const measured: Record<string, MeasuredPart> = {};
  for (const { name, bench } of benches) {
    const begin = performance.now();
    measured[name] = toPart(await bench());
    console.log(`${name}: ${((performance.now() - begin) / 1000).toFixed(0)} s`);
  }
  return measured;
}

/**
 * Earlier results of parts that still exist. Results of another machine or other versions are dropped, because they
 * can't be compared.
 */
function kept(published: Results | undefined, parts: object): Results['parts'] {
  const { machine, versions } = thisMachine();
  const isSame = JSON.stringify([published?.machine, published?.versions]) === JSON.stringify([machine, versions]);
  if (!published || !isSame) return {};
  return Object.fromEntries(Object.entries(published.parts).filter(([name]) => name in parts));
}
