// Loaded first by every command and by the tests in Node, which makes them start several times faster. Optional.
import { enableCompileCache, registerHooks } from 'node:module';
import { resolve } from 'node:path';

// Caches Node's compiled code of packages (wrangler alone has 14 MB of source) and of our own files. The variable does
// the same for the commands that we run, such as wrangler.
process.env.NODE_COMPILE_CACHE ??= resolve('node_modules/.cache/claimcheck/compiled');
enableCompileCache(process.env.NODE_COMPILE_CACHE);

// For every import, Node parses the package.json of the file's package. drizzle-orm's has 180 KB, and its files import
// each other 400 times by complete paths. So they are resolved here instead.
registerHooks({
  resolve(specifier, context, next) {
    const { parentURL } = context;
    const isBetweenFiles = specifier.startsWith('.') && parentURL?.includes('/node_modules/drizzle-orm/');
    // The .cjs files are CommonJS.
    if (!isBetweenFiles || parentURL.endsWith('.cjs')) return next(specifier, context);
    return { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true };
  },
});
