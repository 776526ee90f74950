// Runs before every test file: nothing that is printed may contain a canary.
import { afterAll, afterEach, assert } from 'vitest';
import { once, search, takeLeaks } from './canaries.ts';

once('console', () => {
  for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) {
    const print = console[method];
    console[method] = (...values: unknown[]) => {
      for (const value of values)
        search(value instanceof Error ? `${value.stack}` : String(value), `console.${method}`);
      print.call(console, ...values);
    };
  }
});

/** One leak is usually in many lines. */
const MAX_SHOWN = 5;

function failIfLeaked(): void {
  const leaks = new Set(takeLeaks());
  if (leaks.size > 0) assert.fail([...leaks].slice(0, MAX_SHOWN).join('\n'));
}

afterEach(failIfLeaked);
// The first hook registered runs last: what a test file searches at its end is included.
afterAll(failIfLeaked);
