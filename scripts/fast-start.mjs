// Loaded first by every command and test, so that they start in half of the time. Nothing depends on it.
import { enableCompileCache, registerHooks } from 'node:module';

// Node keeps the compiled code of packages there. Wrangler alone has 14 MB of source.
enableCompileCache('node_modules/.cache/claimcheck/compiled');

// Node looks for the package.json of each file that it imports, and parses it each time. That of drizzle-orm has 180 KB,
// and the package 200 files, all of them ES modules that name each other by path.
registerHooks({
  resolve(specifier, context, next) {
    const { parentURL } = context;
    const isKnown = specifier.startsWith('.') && parentURL?.includes('/node_modules/drizzle-orm/');
    if (!isKnown || parentURL.endsWith('.cjs')) return next(specifier, context);
    return { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true };
  },
});
