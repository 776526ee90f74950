// Loaded first by every script and by the tests that run in Node: they start several times faster. All works without it.
import { enableCompileCache, registerHooks } from 'node:module';
import { resolve } from 'node:path';

// Node keeps compiled code there: of packages (wrangler alone has 14 MB of source), and of our own files. The variable is
// for the commands that we run, such as wrangler itself.
process.env.NODE_COMPILE_CACHE ??= resolve('node_modules/.cache/claimcheck/compiled');
enableCompileCache(process.env.NODE_COMPILE_CACHE);

// For every import, Node parses the package.json of the package that the file belongs to. That of drizzle-orm has 180 KB,
// and its files import each other 400 times, by complete paths. So they are resolved here, without it.
registerHooks({
  resolve(specifier, context, next) {
    const { parentURL } = context;
    const isBetweenFiles = specifier.startsWith('.') && parentURL?.includes('/node_modules/drizzle-orm/');
    // Its .cjs files are CommonJS.
    if (!isBetweenFiles || parentURL.endsWith('.cjs')) return next(specifier, context);
    return { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true };
  },
});
