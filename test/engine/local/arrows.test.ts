import { describe, expect, it } from 'vitest';
import { importsOf, wrongImports } from '../../../scripts/lib/arrows.ts';

const ALIASES = { '#kit': './src/kit/index.ts', '#providers/*': './src/providers/*.ts' };

const wrong = (file: string, text: string) => wrongImports(importsOf(file, text, ALIASES));

describe('an import that points the wrong way is named', () => {
  it.each([
    ['src/receiver/receive.ts', `import { handlers } from '../app/handlers/index.ts';`, 'src/app/handlers/index.ts'],
    ['src/receiver/index.ts', `import { handlers } from '../app/handlers/index.ts';`, 'src/app/handlers/index.ts'],
    ['src/ops/index.ts', `import { handlers } from '../app/handlers/index.ts';`, 'src/app/handlers/index.ts'],
    ['src/ops/app.tsx', `import { createReceiver } from '../receiver/receive.ts';`, 'src/receiver/receive.ts'],
    ['src/consumer/batch.ts', `import { sources } from '../app/sources.ts';`, 'src/app/sources.ts'],
    ['src/consumer/consumer.ts', `import { cors } from 'hono/cors';`, 'hono/cors'],
    ['src/app/handlers/a.ts', `import { run } from '../../db/client.ts';`, 'src/db/client.ts'],
    ['src/db/claim.ts', `export { isTicket } from '../queue/tickets.ts';`, 'src/queue/tickets.ts'],
    ['src/shared/json.ts', `import type { Place } from '../providers/types.ts';`, 'src/providers/types.ts'],
    ['scripts/dev.ts', `const x = await import('../test/engine/running.ts');`, 'test/engine/running.ts'],
    ['src/providers/a.ts', `import '../verify/index.ts';`, 'src/verify/index.ts'],
    ['src/db/claim.ts', `import { defineHandler } from '#kit';`, 'src/kit/index.ts'],
    ['src/new/a.ts', `import { log } from '../shared/log.ts';`, 'src/shared/log.ts'],
  ])('%s: %s', (file, text, to) => {
    expect(wrong(file, text)).toEqual([`${file} must not import ${to}`]);
  });

  it.each([
    ['src/kit/handler.ts', `import client from '../db/client.ts';`, 'src/db/client.ts'],
    ['src/kit/handler.ts', `const client = await import('../db/client.ts');`, 'src/db/client.ts'],
    ['src/verify/index.ts', `import { type Provider, stripe } from '#providers/stripe';`, 'src/providers/stripe.ts'],
  ])('%s may import types, but not with: %s', (file, text, to) => {
    expect(wrong(file, text)).toEqual([`${file} must not import ${to}, except types`]);
  });
});

describe('an import that points the right way passes', () => {
  it.each([
    ['src/app/sources.ts', `import { defineSources } from '#kit';\nimport { stripe } from '#providers/stripe';`],
    ['src/app/handlers/a.ts', `import { orders } from '../tables.ts';\nimport * as v from 'valibot';`],
    ['src/receiver/index.ts', `import { sources } from '../app/sources.ts';`],
    ['src/consumer/index.ts', `import { handlers } from '../app/handlers/index.ts';`],
    [
      'src/receiver/receive.ts',
      `import { Hono } from 'hono';\nimport { type Log, positionOf } from '../shared/log.ts';`,
    ],
    ['src/kit/handler.ts', `import type { Database } from '../db/client.ts';`],
    ['src/verify/index.ts', `import {\n  type Place,\n  type Provider,\n} from '../providers/types.ts';`],
    ['scripts/local/app.ts', `import { sources } from '../../src/app/sources.ts';`],
    ['test/app/a.test.ts', `import { useApp } from '../kit.ts';`],
  ])('%s: %s', (file, text) => {
    expect(wrong(file, text)).toEqual([]);
  });
});
