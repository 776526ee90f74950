// Loaded first by every command and every test in Node. They start several times faster, and nothing else depends on it.
import { enableCompileCache, registerHooks } from 'node:module';

// Node keeps the compiled code of packages there. Wrangler alone has 14 MB of source.
enableCompileCache('node_modules/.cache/claimcheck/compiled');

// For every import, Node looks for the package.json beside the file and parses it. The files of drizzle-orm import each
// other 400 times, and its package.json has 180 KB: that takes a second. They are ES modules, and named by their paths.
registerHooks({
  resolve(specifier, context, next) {
    const { parentURL } = context;
    const isKnown = specifier.startsWith('.') && parentURL?.includes('/node_modules/drizzle-orm/');
    if (!isKnown || parentURL.endsWith('.cjs')) return next(specifier, context);
    return { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true };
  },
});
