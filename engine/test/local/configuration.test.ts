import { describe, expect, it } from 'vitest';
import {
  type Configuration,
  checkConfiguration,
  differencesBetween,
  sharedByEnvironments,
  typesWithoutHandler,
} from '../../cli/config/configuration.ts';
import { handlerProblems } from '../../cli/config/handler-problems.ts';
import type { WorkerConfig } from '../../cli/config/worker-config.ts';
import { defineHandler } from '../../src/kit/index.ts';
import { adyen } from '../../src/providers/adyen.ts';
import { gethook } from '../../src/providers/gethook.ts';
import type { Provider } from '../../src/providers/index.ts';
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
  /** `null`: there is none. */
  readonly ops?: Partial<WorkerConfig> | null;
  readonly provider?: Provider | undefined;
  readonly example?: Configuration['example'];
}

/** `provider` is that of the only source. */
function check({ receiver, consumer, ops = {}, provider, example }: Changes) {
  return checkConfiguration({
    sources: provider ? { 'my-shop': { provider, types: [] } } : {},
    receiver: worker('receiver.toml', { ...RECEIVER, ...receiver }),
    consumer: worker('consumer.toml', { ...CONSUMER, ...consumer }),
    ops: ops === null ? undefined : worker('ops.toml', { ...OPS, ...ops }),
    example,
  });
}

const vars = (changes: Record<string, string | number | undefined>) => ({
  consumer: { vars: { ...VARS, ...changes } },
});

it.each<[what: string, changes: Changes, errors?: readonly (string | RegExp)[], hints?: readonly (string | RegExp)[]]>([
  ['is complete', { example: { DATABASE_URL: '', MY_SHOP_WEBHOOK_SECRET: '' } }],
  ['has no ops Worker', { ops: null }],
  [
    'has an old .dev.vars.example',
    { example: { DATABASE_URL: 'postgres://localhost/dev', DEV_LETS_EVERYBODY_IN: 'true' } },
    [],
    [
      ".dev.vars.example doesn't name MY_SHOP_WEBHOOK_SECRET, which a wrangler file requires: add the line MY_SHOP_WEBHOOK_SECRET=",
      '.dev.vars.example names DEV_LETS_EVERYBODY_IN, which no wrangler file requires',
      '.dev.vars.example has a value for DATABASE_URL: people would deploy it, so leave it empty',
      '.dev.vars.example has a value for DEV_LETS_EVERYBODY_IN: people would deploy it, so leave it empty',
    ],
  ],
  [
    'has a source without a secret',
    { receiver: { secrets: ['DATABASE_URL'] } },
    ['source my-shop has no secret: add "MY_SHOP_WEBHOOK_SECRET" to secrets.required in receiver.toml'],
  ],
  [
    'has the secret of a source that is gone',
    { provider: undefined },
    [],
    [/^MY_SHOP_WEBHOOK_SECRET .* belongs to no source/],
  ],
  [
    'forgets keys on the last day of retries',
    { ...vars({ DEDUPE_DAYS: 30 }), provider: adyen },
    [
      'source my-shop: adyen retries for 30 days, but keys are forgotten after 30: set DEDUPE_DAYS in consumer.toml to 31 or more',
    ],
  ],
  ['forgets keys on the day after the last retry', { ...vars({ DEDUPE_DAYS: 31 }), provider: adyen }],
  [
    'has no DEDUPE_DAYS',
    vars({ DEDUPE_DAYS: undefined }),
    ['DEDUPE_DAYS in [vars] of consumer.toml must be a number of days'],
  ],
  [
    'has two Workers of the same name',
    { receiver: { name: 'hooks' }, ops: { name: 'hooks' } },
    ['receiver.toml and ops.toml have the same name: the second deploy would replace the first Worker'],
  ],
  ['has a Worker without a name', { receiver: { name: '' } }, ['receiver.toml has no name']],
  ['names no queue of events', vars({ EVENTS_QUEUE: undefined }), [/^EVENTS_QUEUE is missing/]],
  [
    'has a typo in the name of a queue',
    vars({ EFFECTS_QUEUE: 'tow' }),
    ["EFFECTS_QUEUE is tow, which consumer.toml doesn't consume"],
  ],
  [
    'has two variables for one queue',
    vars({ EFFECTS_QUEUE: 'one' }),
    ['EFFECTS_QUEUE and EVENTS_QUEUE in consumer.toml are the same queue'],
  ],
  [
    'has another dead letter queue',
    { consumer: { deadLetterQueues: { one: 'two-dead', two: 'two-dead' } } },
    ['EVENTS_DEAD_QUEUE is one-dead, but the dead letter queue of one in consumer.toml is two-dead'],
  ],
  [
    'has no dead letter queue',
    { consumer: { deadLetterQueues: { one: 'one-dead' } } },
    [/of two in consumer\.toml is not set$/],
  ],
  [
    'has a receiver that sends to another queue',
    { receiver: { produces: { EVENTS: 'other' } } },
    ['the producer EVENTS in receiver.toml sends to other, but EVENTS_QUEUE in consumer.toml is one'],
  ],
  [
    'has a consumer that sends effects nowhere, and an ops Worker that sends all to the other queue',
    { consumer: { produces: { EVENTS: 'one' } }, ops: { produces: { EVENTS: 'two', EFFECTS: 'one' } } },
    [
      'the producer EVENTS in ops.toml sends to two, but EVENTS_QUEUE in consumer.toml is one',
      'the producer EFFECTS in consumer.toml sends to nothing, but EFFECTS_QUEUE in consumer.toml is two',
      'the producer EFFECTS in ops.toml sends to one, but EFFECTS_QUEUE in consumer.toml is two',
    ],
  ],
  [
    'has a queue that no variable names',
    { consumer: { consumes: ['one', 'two', 'one-dead', 'two-dead', 'more'] } },
    [/^consumer\.toml consumes more, but none of its variables/],
  ],
])('a configuration that %s', (_what, changes, errors = [], hints = []) => {
  const lines = (all: readonly (string | RegExp)[]) =>
    all.map((line) => (typeof line === 'string' ? line : expect.stringMatching(line)));
  expect(check({ provider: gethook, ...changes })).toEqual({ errors: lines(errors), hints: lines(hints) });
});

it('the types that a source asks for and no handler takes are named', () => {
  const handler = defineHandler({ handle: () => [] });
  const { stripe, github, sesmetric } = sources;
  const asked = {
    stripe: { ...stripe, types: ['charge.succeeded'] },
    github: { ...github, types: ['push', 'toString', 'issues.opened', 'issues.*'] },
    sesmetric: { ...sesmetric, types: '*' },
  } as const;
  const handlers = { stripe: { 'charge.succeeded': handler }, github: { pushed: handler, 'issues.*': handler } };
  expect(typesWithoutHandler(asked, handlers)).toEqual([
    'no handler for github/push: write one, or remove the type from src/sources.ts',
    'no handler for github/toString: write one, or remove the type from src/sources.ts',
  ]);
});

it('what is wrong with handlers is said in a line each', () => {
  const handler = defineHandler({ handle: () => [] });
  const wrong: [entry: unknown, problem: string][] = [
    [undefined, 'there is undefined instead of a handler'],
    [() => [], 'there is () => [] instead of a handler'],
    [[handler, handler], 'a list of handlers has names: { book, notify } instead of [book, notify]'],
    [{}, 'the list is empty'],
    [{ book: handler, notify: undefined }, 'notify is no handler: write it with defineHandler()'],
    [
      { book: { ...handler, atempts: 3 } },
      'book: a handler has no option atempts: it has schema, attempts, parkOn, handle',
    ],
    [{ ...handler, retries: 3 }, 'a handler has no option retries: it has schema, attempts, parkOn, handle'],
  ];
  for (const [entry, problem] of wrong)
    expect(handlerProblems({ github: { push: entry } } as never)).toEqual([
      `handlers of github/push: ${problem} (src/handlers/index.ts)`,
    ]);
  expect(handlerProblems({ github: { 'issues*': handler } })).toEqual([
    'handlers of github/issues*: the type "issues*", which is not a pattern: one ends with a dot and *, as in "issues.*" (src/handlers/index.ts)',
  ]);
  expect(handlerProblems({ github: { push: handler, 'issues.*': { one: handler }, '*': handler } })).toEqual([]);
});

describe('environments', () => {
  const environment = (name: string, config: Partial<WorkerConfig>) => ({
    receiver: worker('wrangler.toml', { environment: name, name: `receiver${name}`, ...config }),
    consumer: worker('wrangler.consumer.toml', {
      environment: name,
      name: `consumer${name}`,
      consumes: [`events${name}`, `effects${name}`],
    }),
    ops: undefined,
  });

  it('what one lacks or has alone is named: variables, required secrets, bindings', () => {
    const raw = { kv_namespaces: [{ binding: 'K' }] };
    const top = environment('', { vars: { A: 1 }, secrets: ['S'], raw });
    const queues = { producers: [{ binding: 'L', queue: 'l' }], consumers: [] };
    const staging = environment('staging', { vars: { B: 1 }, secrets: ['S'], raw: { queues } });
    expect(differencesBetween([top, staging])).toEqual([
      '[env.staging] in wrangler.toml lacks the variable A, which the file has at the top',
      '[env.staging] in wrangler.toml lacks the binding K, which the file has at the top',
      '[env.staging] in wrangler.toml has the variable B, which the file lacks at the top',
      '[env.staging] in wrangler.toml has the binding L, which the file lacks at the top',
    ]);
    expect(differencesBetween([top, environment('staging', { vars: { A: 2 }, secrets: ['S'], raw })])).toEqual([]);
  });

  it('two never share a Worker or a queue', () => {
    const top = environment('', {});
    expect(sharedByEnvironments([top, environment('staging', {})])).toEqual([]);
    const same = { ...environment('staging', {}), consumer: { ...top.consumer, environment: 'staging' } };
    expect(sharedByEnvironments([top, same])).toEqual(
      ['name consumer', 'queue events', 'queue effects'].map(
        (one) =>
          `[env.staging] in wrangler.consumer.toml and wrangler.consumer.toml share the ${one}: two environments never share one`,
      ),
    );
  });
});
