// Runs before every test file: nothing that is printed may contain a canary.
import { afterAll, afterEach } from 'vitest';
import { search, takeLeaks } from './canaries.ts';

for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) {
  const print = console[method];
  console[method] = (...values: unknown[]) => {
    for (const value of values) search(value instanceof Error ? `${value.stack}` : String(value), `console.${method}`);
    print.call(console, ...values);
  };
}

function failIfLeaked(): void {
  const leaks = takeLeaks();
  if (leaks.length > 0) throw new Error(leaks.join('\n'));
}

afterEach(failIfLeaked);
// The first hook registered runs last: what a test file searches at its end is included.
afterAll(failIfLeaked);
