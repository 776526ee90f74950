import { existsSync } from 'node:fs';

/** Runs the `main` of a command's file. Errors that are the user's to correct are one line, without a stack. */
export async function run(name, file, args) {
  process.argv.splice(2, process.argv.length, ...args);
  if (!existsSync('node_modules')) fail(name, 'the packages are not installed: run npm ci');
  // If Node is a package of the project, `npm run` puts it first on the PATH.
  if (!process.features.typescript) {
    const remedy = existsSync('node_modules/node')
      ? `npm run ${name} uses the project's own (or npx -p node claimcheck ${name})`
      : 'nvm install, for example, installs the one in .nvmrc';
    fail(name, `this is Node ${process.versions.node}, and Node 22.18 or newer is needed: ${remedy}`);
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

export function fail(name, message, exitCode = 1) {
  console.error(`${name}: ${message}`);
  process.exit(exitCode);
}
