// Tests in Node are loaded by Node itself, which takes TypeScript. This adds what the console's pages need: JSX, and what wrangler's
// Text rule does, their style and script as texts.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'rolldown/utils';

registerHooks({
  load(url, context, next) {
    const isText = /\/src\/ops\/pages\/\w+\.(css|js)$/.test(url);
    if (!isText && !url.endsWith('.tsx')) return next(url, context);
    const file = fileURLToPath(url);
    const text = readFileSync(file, 'utf8');
    const source = isText
      ? `export default ${JSON.stringify(text)}`
      : transformSync(file, text, { jsx: { importSource: 'hono/jsx' } }).code;
    return { format: 'module', source, shortCircuit: true };
  },
});
