import { describe, expect, it } from 'vitest';
import {
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
  readonly types?: readonly string[];
  readonly tenants?: true;
}

/** `provider` is that of the only source. */
function check({ receiver, consumer, ops = {}, provider, types = [], tenants }: Changes) {
  return checkConfiguration({
    sources: provider ? { 'my-shop': { provider, types, ...(tenants && { tenants }) } } : {},
    receiver: worker('receiver.toml', { ...RECEIVER, ...receiver }),
    consumer: worker('consumer.toml', { ...CONSUMER, ...consumer }),
    ops: ops === null ? undefined : worker('ops.toml', { ...OPS, ...ops }),
  });
}

const vars = (changes: Record<string, string | number | undefined>) => ({
  consumer: { vars: { ...VARS, ...changes } },
});

it.each<[what: string, changes: Changes, errors?: readonly RegExp[], hints?: readonly RegExp[]]>([
  ['is complete', {}],
  ['has no ops Worker', { ops: null }],
  ['has a source without a secret', { receiver: { secrets: [] } }, [/add "MY_SHOP_WEBHOOK_SECRET" .* receiver\.toml$/]],
  ['has a source that wants every type', { types: ['paid', '*'] }, [/^source my-shop lists the type "\*"/]],
  ['has the secret of a source that is gone', { provider: undefined }, [], [/^MY_SHOP_WEBHOOK_SECRET .* no source/]],
  [
    'has tenants',
    {
      tenants: true,
      receiver: { secrets: ['TENANTS_KEY'] },
      ops: { secrets: ['TENANTS_KEY', 'TENANTS_KEY_PREVIOUS'] },
    },
  ],
  ['has tenants, and no ops Worker', { tenants: true, receiver: { secrets: ['TENANTS_KEY'] }, ops: null }],
  [
    'has tenants and no TENANTS_KEY',
    { tenants: true, receiver: { secrets: [] } },
    [
      /^source my-shop has tenants: add "TENANTS_KEY" to secrets\.required in receiver\.toml$/,
      /^source my-shop has tenants: add "TENANTS_KEY" to secrets\.required in ops\.toml$/,
    ],
  ],
  [
    'has tenants, the secret of one sender, and a consumer that can read the key',
    {
      tenants: true,
      receiver: { secrets: ['TENANTS_KEY', 'MY_SHOP_WEBHOOK_SECRET'] },
      consumer: { secrets: ['TENANTS_KEY'] },
      ops: { secrets: ['TENANTS_KEY'] },
    },
    [],
    [/^MY_SHOP_WEBHOOK_SECRET .* no source/, /^remove TENANTS_KEY from .* consumer\.toml/],
  ],
  [
    'has a TENANTS_KEY without tenants',
    { receiver: { secrets: ['MY_SHOP_WEBHOOK_SECRET', 'TENANTS_KEY'] }, ops: { secrets: ['TENANTS_KEY'] } },
    [],
    [/^TENANTS_KEY .* receiver\.toml belongs to no source/, /^TENANTS_KEY .* ops\.toml belongs to no source/],
  ],
  [
    'forgets keys on the last day of retries',
    { ...vars({ DEDUPE_DAYS: 30 }), provider: adyen },
    [/adyen retries for 30 days, .* after 30: set DEDUPE_DAYS in consumer\.toml to 31 or more/],
  ],
  ['forgets keys on the day after the last retry', { ...vars({ DEDUPE_DAYS: 31 }), provider: adyen }],
  ['has no DEDUPE_DAYS', vars({ DEDUPE_DAYS: undefined }), [/^DEDUPE_DAYS .* must be a number/]],
  [
    'has two Workers of the same name',
    { receiver: { name: 'hooks' }, ops: { name: 'hooks' } },
    [/^receiver\.toml and ops\.toml have the same name/],
  ],
  ['has a Worker without a name', { receiver: { name: '' } }, [/^receiver\.toml has no name$/]],
  ['names no queue of events', vars({ EVENTS_QUEUE: undefined }), [/^EVENTS_QUEUE is missing/]],
  ['has a typo in the name of a queue', vars({ EFFECTS_QUEUE: 'tow' }), [/^EFFECTS_QUEUE is tow, .* doesn't consume$/]],
  ['has two variables for one queue', vars({ EFFECTS_QUEUE: 'one' }), [/^EFFECTS_QUEUE and EVENTS_QUEUE .* the same/]],
  [
    'has another dead letter queue',
    { consumer: { deadLetterQueues: { one: 'two-dead', two: 'two-dead' } } },
    [/^EVENTS_DEAD_QUEUE is one-dead, .* of one in consumer\.toml is two-dead$/],
  ],
  [
    'has no dead letter queue',
    { consumer: { deadLetterQueues: { one: 'one-dead' } } },
    [/of two in consumer\.toml is not set$/],
  ],
  [
    'has a receiver that sends to another queue',
    { receiver: { produces: { EVENTS: 'other' } } },
    [/^the producer EVENTS in receiver\.toml sends to other, but EVENTS_QUEUE .* is one$/],
  ],
  [
    'has a consumer that sends effects nowhere, and an ops Worker that sends all to the other queue',
    { consumer: { produces: { EVENTS: 'one' } }, ops: { produces: { EVENTS: 'two', EFFECTS: 'one' } } },
    [
      /EVENTS in ops\.toml sends to two/,
      /EFFECTS in consumer\.toml sends to nothing/,
      /EFFECTS in ops\.toml sends to one/,
    ],
  ],
  [
    'has a queue that no variable names',
    { consumer: { consumes: ['one', 'two', 'one-dead', 'two-dead', 'more'] } },
    [/^consumer\.toml consumes more, /],
  ],
])('a configuration that %s', (_what, changes, errors = [], hints = []) => {
  const lines = (all: readonly RegExp[]) => all.map((line) => expect.stringMatching(line));
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
    [[handler, handler], 'a list of handlers needs names: { book, notify } instead of [book, notify]'],
    [{}, 'the list is empty'],
    [{ book: handler, notify: undefined }, 'notify is not a handler: write it with defineHandler()'],
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
    const lines = ['lacks the variable A', 'lacks the binding K', 'has the variable B', 'has the binding L'];
    expect(differencesBetween([top, staging])).toEqual(
      lines.map((line) => expect.stringContaining(`[env.staging] in wrangler.toml ${line}, which the file`)),
    );
    expect(differencesBetween([top, environment('staging', { vars: { A: 2 }, secrets: ['S'], raw })])).toEqual([]);
  });

  it('two never share a Worker or a queue', () => {
    const top = environment('', {});
    expect(sharedByEnvironments([top, environment('staging', {})])).toEqual([]);
    const same = { ...environment('staging', {}), consumer: { ...top.consumer, environment: 'staging' } };
    const shared = ['name consumer', 'queue events', 'queue effects'];
    expect(sharedByEnvironments([top, same])).toEqual(
      shared.map((one) => expect.stringContaining(`wrangler.consumer.toml share the ${one}`)),
    );
  });
});
