import { describe, expect, it } from 'vitest';
import { handlerOf, limitsOf } from '../../src/consumer/find-handler.ts';
import { defineHandler, type Handlers } from '../../src/kit/index.ts';

const named = () => defineHandler({ handle: () => [] });
const handlers = {
  github: {
    'issues.opened': named(),
    'issues.*': named(),
    'issues.label.*': named(),
    '*': { one: named(), another: named() },
  },
  stripe: { 'charge.*': named() },
} as const satisfies Handlers;

it.each<[source: string, type: string | null, expected: string | undefined]>([
  ['github', 'issues.opened', 'issues.opened'],
  ['github', 'issues.closed', 'issues.*'],
  ['github', 'issues.label.added', 'issues.label.*'],
  ['github', 'issues', '*'],
  ['github', 'issue', '*'],
  ['github', 'issuesX', '*'],
  ['github', 'toString', '*'],
  ['github', null, '*'],
  ['stripe', 'charge.toString', 'charge.*'],
  ['stripe', 'charge', undefined],
  ['stripe', 'toString', undefined],
  ['stripe', null, undefined],
  ['toString', 'charge.a', undefined],
])('for %s, the type %j has the handler of %j', (source, type, expected) => {
  const ofSource: Handlers[string] = handlers[source as keyof typeof handlers];
  expect(handlerOf({ source, type }, handlers)).toBe(expected === undefined ? undefined : ofSource?.[expected]);
});

it('a type whose handler is missing by mistake gets no other handler', () => {
  const broken: Handlers = { github: { push: undefined, '*': named() } };
  expect(handlerOf({ source: 'github', type: 'push' }, broken)).toEqual({});
});

describe('a list', () => {
  it('has the smallest number of attempts of its handlers, whose default is twelve', () => {
    const attempts = (...numbers: (number | undefined)[]) =>
      limitsOf(
        Object.fromEntries(numbers.map((n, i) => [`h${i}`, { ...named(), ...(n !== undefined && { attempts: n }) }])),
      ).maxAttempts;
    expect([attempts(5, 3), attempts(20, undefined), attempts(20, 15), attempts(5, Number.NaN)]).toEqual([
      3,
      12,
      15,
      Number.NaN,
    ]);
  });

  it('is parked by the constraints of all its handlers', () => {
    const list = { a: { ...named(), parkOn: ['one'] }, b: named(), c: { ...named(), parkOn: ['two'] } };
    expect(limitsOf(list).parkOn).toEqual(['one', 'two']);
  });
});
