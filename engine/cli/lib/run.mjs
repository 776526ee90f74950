import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** Runs the `main` of a command's file. Errors that the user can correct are printed as one line without a stack. */
export async function run(name, file, args) {
  process.argv.splice(2, process.argv.length, ...args);
  if (!isInstalled('wrangler')) fail(name, 'the packages are not installed: run npm ci');
  // `npm run` puts the project's own Node first on the PATH if it is a package of the project.
  if (!process.features.typescript) {
    const remedy = isInstalled('node')
      ? `npm run uses the project's own, and so does npx node ${relative('.', process.argv[1])} ${name}`
      : 'nvm install, for example, installs the one in .nvmrc';
    fail(name, `this is Node ${process.versions.node}, but Node 22.18 or newer is needed: ${remedy}`);
  }
  try {
    await import('./fast-start.mjs');
    const { default: main } = await import(file);
    await main();
  } catch (error) {
    if (error?.name !== 'UserError') throw error;
    fail(name, error.message, error.exitCode);
  }
}

/** Looks here and in the folders above, as in a monorepo. */
function isInstalled(name) {
  let folder = resolve('.');
  while (!existsSync(join(folder, 'node_modules', name)) && dirname(folder) !== folder) folder = dirname(folder);
  return existsSync(join(folder, 'node_modules', name));
}

export function fail(name, message, exitCode = 1) {
  console.error(`${name}: ${message}`);
  process.exit(exitCode);
}
