import { describe, expect, it } from 'vitest';
import {
  type Configuration,
  checkConfiguration,
  differencesBetween,
  sharedByEnvironments,
  typesWithoutHandler,
} from '../../../scripts/config/configuration.ts';
import type { WorkerConfig } from '../../../scripts/config/worker-config.ts';
import { defineHandler } from '../../../src/kit/index.ts';
import { adyen } from '../../../src/providers/adyen.ts';
import { gethook } from '../../../src/providers/gethook.ts';
import { sources } from '../fixture/sources.ts';

const worker = (path: string, config: Partial<WorkerConfig>): WorkerConfig => ({
  path,
  environment: '',
  name: path,
  main: 'index.ts',
  vars: {},
  secrets: [],
  consumes: [],
  deadLetterQueues: {},
  produces: {},
  raw: {},
  ...config,
});

const RECEIVER: Partial<WorkerConfig> = {
  secrets: ['DATABASE_URL', 'MY_SHOP_WEBHOOK_SECRET'],
  produces: { EVENTS: 'one' },
};

const VARS = {
  EVENTS_QUEUE: 'one',
  EVENTS_DEAD_QUEUE: 'one-dead',
  EFFECTS_QUEUE: 'two',
  EFFECTS_DEAD_QUEUE: 'two-dead',
  DEDUPE_DAYS: 30,
};

const CONSUMER: Partial<WorkerConfig> = {
  vars: VARS,
  consumes: ['one', 'two', 'one-dead', 'two-dead'],
  deadLetterQueues: { one: 'one-dead', two: 'two-dead' },
  produces: { EVENTS: 'one', EFFECTS: 'two' },
};

const OPS: Partial<WorkerConfig> = { produces: { EVENTS: 'one', EFFECTS: 'two' } };

interface Changes {
  readonly receiver?: Partial<WorkerConfig>;
  readonly consumer?: Partial<WorkerConfig>;
  readonly ops?: Partial<WorkerConfig> | undefined;
  readonly sources?: Configuration['sources'];
  readonly example?: Configuration['example'];
}

function check({ receiver, consumer, ops = {}, sources, example }: Changes = {}) {
  return checkConfiguration({
    sources: sources ?? { 'my-shop': { provider: gethook, types: [] } },
    receiver: worker('receiver.toml', { ...RECEIVER, ...receiver }),
    consumer: worker('consumer.toml', { ...CONSUMER, ...consumer }),
    ops: worker('ops.toml', { ...OPS, ...ops }),
    example,
  });
}

it('a complete configuration has neither errors nor hints', () => {
  expect(check()).toEqual({ errors: [], hints: [] });
});

it('.dev.vars.example names what the wrangler files require, without values', () => {
  expect(check({ example: { DATABASE_URL: '', MY_SHOP_WEBHOOK_SECRET: '' } }).hints).toEqual([]);
  expect(check({ example: { DATABASE_URL: 'postgres://localhost/dev', DEV_LETS_EVERYBODY_IN: 'true' } }).hints).toEqual(
    [
      ".dev.vars.example doesn't name MY_SHOP_WEBHOOK_SECRET, which a wrangler file requires: add the line MY_SHOP_WEBHOOK_SECRET=",
      '.dev.vars.example names DEV_LETS_EVERYBODY_IN, which no wrangler file requires',
      '.dev.vars.example has a value for DATABASE_URL: people would deploy it, so leave it empty',
      '.dev.vars.example has a value for DEV_LETS_EVERYBODY_IN: people would deploy it, so leave it empty',
    ],
  );
});

it('the ops Worker may be missing', () => {
  const receiver = worker('receiver.toml', RECEIVER);
  const consumer = worker('consumer.toml', CONSUMER);
  const sources = { 'my-shop': { provider: gethook, types: [] } };
  expect(checkConfiguration({ sources, receiver, consumer, ops: undefined }).errors).toEqual([]);
});

describe('a source', () => {
  it('without a secret is named, with the line that is missing', () => {
    expect(check({ receiver: { secrets: ['DATABASE_URL'] } }).errors).toEqual([
      'source my-shop has no secret: add "MY_SHOP_WEBHOOK_SECRET" to secrets.required in receiver.toml',
    ]);
  });

  it('that is gone leaves a secret behind, which is a hint and no error', () => {
    const { errors, hints } = check({ sources: {} });
    expect(errors).toEqual([]);
    expect(hints).toEqual([expect.stringMatching(/^MY_SHOP_WEBHOOK_SECRET .* belongs to no source/)]);
  });

  it.each([
    [
      30,
      [
        'source my-shop: adyen retries for 30 days, but keys are forgotten after 30: set DEDUPE_DAYS in consumer.toml to 31 or more',
      ],
    ],
    [31, []],
  ])('whose provider retries for 30 days is compared with DEDUPE_DAYS %i', (days, errors) => {
    const sources = { 'my-shop': { provider: adyen, types: [] } };
    expect(check({ consumer: { vars: { ...VARS, DEDUPE_DAYS: days } }, sources }).errors).toEqual(errors);
  });

  it('needs DEDUPE_DAYS to be a number', () => {
    const { DEDUPE_DAYS: _, ...vars } = VARS;
    expect(check({ consumer: { vars } }).errors).toEqual([
      'DEDUPE_DAYS in [vars] of consumer.toml must be a number of days',
    ]);
  });
});

describe('the queues', () => {
  const vars = (changes: Record<string, string | undefined>) => ({ consumer: { vars: { ...VARS, ...changes } } });

  it.each([
    ['a missing variable', vars({ EVENTS_QUEUE: undefined }), /^EVENTS_QUEUE is missing/],
    [
      'a variable with a typo',
      vars({ EFFECTS_QUEUE: 'tow' }),
      /^EFFECTS_QUEUE is tow, which consumer\.toml doesn't consume$/,
    ],
    [
      'two variables for one queue',
      vars({ EFFECTS_QUEUE: 'one' }),
      /^EFFECTS_QUEUE and EVENTS_QUEUE .* are the same queue$/,
    ],
    [
      'another dead letter queue',
      { consumer: { deadLetterQueues: { one: 'two-dead', two: 'two-dead' } } },
      /^EVENTS_DEAD_QUEUE is one-dead, but the dead letter queue of one in consumer\.toml is two-dead$/,
    ],
    [
      'no dead letter queue',
      { consumer: { deadLetterQueues: { one: 'one-dead' } } },
      /of two in consumer\.toml is not set$/,
    ],
    [
      'a receiver that sends to another queue',
      { receiver: { produces: { EVENTS: 'other' } } },
      /^the producer EVENTS in receiver\.toml sends to other, but EVENTS_QUEUE in consumer\.toml is one$/,
    ],
    [
      'a consumer that sends effects nowhere',
      { consumer: { produces: { EVENTS: 'one' } } },
      /^the producer EFFECTS in consumer\.toml sends to nothing/,
    ],
    [
      'an ops Worker that sends events to the queue of effects',
      { ops: { produces: { EVENTS: 'two', EFFECTS: 'two' } } },
      /^the producer EVENTS in ops\.toml sends to two, but EVENTS_QUEUE in consumer\.toml is one$/,
    ],
    [
      'a queue that no variable names',
      { consumer: { consumes: ['one', 'two', 'one-dead', 'two-dead', 'more'] } },
      /^consumer\.toml consumes more, but none of its variables/,
    ],
  ] as const)('with %s are refused', (_what, changes, error) => {
    expect(check(changes).errors).toEqual([expect.stringMatching(error)]);
  });
});

it('two Workers with the same name are refused', () => {
  expect(check({ receiver: { name: 'hooks' }, ops: { name: 'hooks' } }).errors).toEqual([
    'receiver.toml and ops.toml have the same name: the second deploy would replace the first Worker',
  ]);
});

it('a Worker without a name is refused', () => {
  expect(check({ receiver: { name: '' } }).errors).toEqual(['receiver.toml has no name']);
});

it('the types that a source asks for and no handler takes are named', () => {
  const handler = defineHandler({ handle: () => [] });
  const { stripe, github } = sources;
  const asked = { stripe, github: { ...github, types: ['push', 'toString'] } };
  expect(typesWithoutHandler(asked, { stripe: { 'charge.succeeded': handler }, github: { pushed: handler } })).toEqual([
    'no handler for github/push: write one, or remove the type from src/app/sources.ts',
    'no handler for github/toString: write one, or remove the type from src/app/sources.ts',
  ]);
});

describe('environments', () => {
  const environment = (name: string, config: Partial<WorkerConfig>) => ({
    receiver: worker('wrangler.toml', { environment: name, name: `receiver${name}`, ...config }),
    consumer: worker('wrangler.consumer.toml', {
      environment: name,
      name: `consumer${name}`,
      consumes: [`events${name}`],
    }),
    ops: undefined,
  });

  it('what one lacks or has alone is named: variables, required secrets, bindings', () => {
    const binding = (one: string) => ({ kv_namespaces: [{ binding: one }] });
    const top = environment('', { vars: { A: 1 }, secrets: ['S'], raw: binding('K') });
    const staging = environment('staging', { vars: { B: 1 }, secrets: ['S'], raw: binding('L') });
    expect(differencesBetween([top, staging])).toEqual([
      '[env.staging] in wrangler.toml lacks the variable A, which the file has at the top',
      '[env.staging] in wrangler.toml lacks the binding K, which the file has at the top',
      '[env.staging] in wrangler.toml has the variable B, which the file lacks at the top',
      '[env.staging] in wrangler.toml has the binding L, which the file lacks at the top',
    ]);
    expect(
      differencesBetween([top, environment('staging', { vars: { A: 2 }, secrets: ['S'], raw: binding('K') })]),
    ).toEqual([]);
  });

  it('two never share a Worker or a queue', () => {
    const top = environment('', {});
    expect(sharedByEnvironments([top, environment('staging', {})])).toEqual([]);
    const same = { ...environment('staging', {}), consumer: { ...top.consumer, environment: 'staging' } };
    expect(sharedByEnvironments([top, same])).toEqual([
      '[env.staging] in wrangler.consumer.toml and wrangler.consumer.toml share the name consumer: two environments never share one',
      '[env.staging] in wrangler.consumer.toml and wrangler.consumer.toml share the queue events: two environments never share one',
    ]);
  });
});
