import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { appLines, buildBundle, defineAppLines } from '../../../scripts/ops/decode.ts';
import { placesOf } from '../../../src/consumer/app-lines.ts';

const linesOf = (folder: string) => readFileSync(join(folder, 'index.js'), 'utf8').split('\n');

it('a deployed consumer knows in which line of src/app an error was thrown', () => {
  const bundle = buildBundle('consumer');
  if (!bundle) throw new Error('the consumer was not built');
  const table = appLines(bundle);
  const before = linesOf(bundle.folder);
  const deployed = linesOf(buildBundle('consumer', defineAppLines())?.folder ?? '');
  // The table itself moves nothing: only the line that holds it differs.
  expect(deployed.length).toBe(before.length);
  const differing = deployed.filter((line, n) => line !== before[n]);
  expect(differing).toEqual([expect.stringContaining('src/app/handlers/')]);
  expect(differing[0]).toContain(table);

  const handler = 'src/app/handlers/repository.ts';
  const wanted = '.GITHUB_API_URL';
  const inBundle = deployed.findIndex((line) => line.includes(wanted)) + 1;
  const inFile =
    readFileSync(handler, 'utf8')
      .split('\n')
      .findIndex((line) => line.includes(wanted)) + 1;
  const position = `handle (index.js:${inBundle}:9) < run (index.js:1:1) < async index.js:${inBundle}:4`;
  expect(placesOf(position, table)).toBe(
    `handle (${handler}:${inFile}) < run (index.js:1:1) < async ${handler}:${inFile}`,
  );
  expect(placesOf(position, '')).toBe(position);
  expect(placesOf(undefined, table)).toBe(undefined);
});
