import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const code = globSync('engine/src/**/*.{ts,tsx}', { exclude: ['engine/src/providers/**'] })
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');

/** `step outcome` of each line that docs/log.md describes. */
const described = linesOf(readFileSync('docs/log.md', 'utf8'));

it('docs/log.md has a section for each step of the log', () => {
  const [, union = ''] = /readonly step:([^;]*);/.exec(code) ?? [];
  const steps = Array.from(union.matchAll(/'(\w+)'/g), ([, step]) => step);
  expect(steps.length).toBeGreaterThan(10);
  expect(new Set(described.map((line) => line.split(' ')[0]))).toEqual(new Set(steps));
});

it('docs/log.md describes each outcome that is written where it is logged', () => {
  const logged = code.matchAll(/log\(\{\s*step: '(\w+)',[^}]*?\boutcome: (?:\w+ \? )?'(\w+)'(?: : '(\w+)')?/g);
  const lines = Array.from(logged, ([, step, ...outcomes]) => outcomes.filter(Boolean).map((one) => `${step} ${one}`));
  // Those of a delivery are the arms of its answer. These three are logged as `accepted` or `duplicate`.
  const answers = readFileSync('engine/src/receiver/receive.ts', 'utf8').matchAll(/^ {4}case '(\w+)'/gm);
  const merged = ['claimed', 'forwarded', 'no_events'];
  const deliveries = Array.from(answers, ([, one = '']) => one).filter((one) => !merged.includes(one));
  expect(lines.length).toBeGreaterThan(20);
  expect(deliveries.length).toBeGreaterThan(10);
  expect(described).toEqual(expect.arrayContaining([...lines.flat(), ...deliveries.map((one) => `delivery ${one}`)]));
});

it('docs/log.md describes no outcome that the code does not know', () => {
  for (const line of described) expect(code, line).toMatch(new RegExp(`\\b${line.split(' ')[1]}\\b`));
});

/** A row names outcomes of its section's step, or pairs of a step and an outcome. */
function linesOf(page: string): string[] {
  return page
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const [heading = '', ...lines] = section.split('\n');
      const steps = namesIn(heading);
      return lines.flatMap((line) => {
        const names = namesIn(/^\| ([^|]*) \|/.exec(line)?.[1] ?? '');
        const [step = ''] = names;
        if (!steps.includes(step)) return names.map((outcome) => `${steps[0]} ${outcome}`);
        return names.flatMap((name, index) => (steps.includes(name) ? [`${name} ${names[index + 1]}`] : []));
      });
    });
}

function namesIn(text: string): string[] {
  return Array.from(text.matchAll(/`(\w+)`/g), ([, name = '']) => name);
}
