import { describe, expect, it } from 'vitest';
import type { WorkerConfig } from '../../../scripts/local/config.ts';
import { type Configuration, checkConfiguration } from '../../../scripts/local/configuration.ts';
import { adyen } from '../../../src/providers/adyen.ts';
import { gethook } from '../../../src/providers/gethook.ts';

const worker = (path: string, config: Partial<WorkerConfig>): WorkerConfig => ({
  path,
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
  vars: { DEDUPE_DAYS: 30 },
  secrets: ['DATABASE_URL', 'MY_SHOP_WEBHOOK_SECRET'],
  produces: { EVENTS: 'one', EFFECTS: 'two' },
};

const CONSUMER: Partial<WorkerConfig> = {
  vars: { EVENTS_QUEUE: 'one', EVENTS_DEAD_QUEUE: 'one-dead', EFFECTS_QUEUE: 'two', EFFECTS_DEAD_QUEUE: 'two-dead' },
  consumes: ['one', 'two', 'one-dead', 'two-dead'],
  deadLetterQueues: { one: 'one-dead', two: 'two-dead' },
  produces: { EFFECTS: 'two' },
};

function check(
  receiver: Partial<WorkerConfig> = {},
  consumer: Partial<WorkerConfig> = {},
  sources: Configuration['sources'] = { 'my-shop': { provider: gethook, types: [] } },
) {
  return checkConfiguration({
    sources,
    receiver: worker('receiver.toml', { ...RECEIVER, ...receiver }),
    consumer: worker('consumer.toml', { ...CONSUMER, ...consumer }),
  });
}

it('a complete configuration has neither errors nor hints', () => {
  expect(check()).toEqual({ errors: [], hints: [] });
});

describe('a source', () => {
  it('without a secret is named, with the line that is missing', () => {
    expect(check({ secrets: ['DATABASE_URL'] }).errors).toEqual([
      'source my-shop has no secret: add "MY_SHOP_WEBHOOK_SECRET" to secrets.required in receiver.toml',
    ]);
  });

  it('that is gone leaves a secret behind, which is a hint and no error', () => {
    const { errors, hints } = check({}, {}, {});
    expect(errors).toEqual([]);
    expect(hints).toEqual([expect.stringMatching(/^MY_SHOP_WEBHOOK_SECRET .* belongs to no source/)]);
  });

  it.each([
    [
      30,
      [
        'source my-shop: adyen retries for 30 days, but keys are forgotten after 30: set DEDUPE_DAYS in receiver.toml to 31 or more',
      ],
    ],
    [31, []],
  ])('whose provider retries for 30 days is compared with DEDUPE_DAYS %i', (days, errors) => {
    const sources = { 'my-shop': { provider: adyen, types: [] } };
    expect(check({ vars: { DEDUPE_DAYS: days } }, {}, sources).errors).toEqual(errors);
  });

  it('needs DEDUPE_DAYS to be a number', () => {
    expect(check({ vars: {} }).errors).toEqual(['DEDUPE_DAYS in [vars] of receiver.toml must be a number of days']);
  });
});

describe('the queues', () => {
  const vars = (changes: Record<string, string | undefined>) => ({ vars: { ...CONSUMER.vars, ...changes } });

  it.each([
    ['a missing variable', {}, vars({ EVENTS_QUEUE: undefined }), /^EVENTS_QUEUE is missing/],
    [
      'a variable with a typo',
      {},
      vars({ EFFECTS_QUEUE: 'tow' }),
      /^EFFECTS_QUEUE is tow, which consumer\.toml doesn't consume$/,
    ],
    [
      'two variables for one queue',
      {},
      vars({ EFFECTS_QUEUE: 'one' }),
      /^EFFECTS_QUEUE and EVENTS_QUEUE .* are the same queue$/,
    ],
    [
      'another dead letter queue',
      {},
      { deadLetterQueues: { one: 'two-dead', two: 'two-dead' } },
      /^EVENTS_DEAD_QUEUE is one-dead, but the dead letter queue of one in consumer\.toml is two-dead$/,
    ],
    ['no dead letter queue', {}, { deadLetterQueues: { one: 'one-dead' } }, /of two in consumer\.toml is not set$/],
    [
      'a receiver that sends to another queue',
      { produces: { EVENTS: 'other', EFFECTS: 'two' } },
      {},
      /^the producer EVENTS in receiver\.toml sends to other, but EVENTS_QUEUE in consumer\.toml is one$/,
    ],
    [
      'a consumer that sends effects nowhere',
      {},
      { produces: {} },
      /^the producer EFFECTS in consumer\.toml sends to nothing/,
    ],
    [
      'a queue that no variable names',
      {},
      { consumes: ['one', 'two', 'one-dead', 'two-dead', 'more'] },
      /^consumer\.toml consumes more, but none of its variables/,
    ],
  ] as const)('with %s are refused', (_what, receiver, consumer, error) => {
    expect(check(receiver, consumer).errors).toEqual([expect.stringMatching(error)]);
  });
});

it('two Workers with the same name are refused', () => {
  expect(check({ name: 'hooks' }, { name: 'hooks' }).errors).toEqual([
    expect.stringMatching(/have the same name: the second deploy would replace the first Worker$/),
  ]);
});

it('a Worker without a name is refused', () => {
  expect(check({ name: '' }).errors).toEqual(['receiver.toml has no name']);
});
