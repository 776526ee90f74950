import type { Source } from '../../src/kit/index.ts';
import { secretName } from '../../src/receiver/secrets.ts';
import type { WorkerConfig } from './config.ts';
import { UserError } from './user-error.ts';

export interface Configuration {
  readonly sources: Readonly<Record<string, Source>>;
  readonly receiver: WorkerConfig;
  readonly consumer: WorkerConfig;
}

export interface Findings {
  /** What would fail in production. Each says what is wrong and what to do. */
  readonly errors: readonly string[];
  /** What is probably not meant. */
  readonly hints: readonly string[];
}

/** Compares the two wrangler files with each other and with the sources. */
export function checkConfiguration(configuration: Configuration): Findings {
  return {
    errors: [
      ...missingSecrets(configuration),
      ...forgottenTooEarly(configuration),
      ...wrongNames(configuration),
      ...wrongQueues(configuration),
    ],
    hints: unusedSecrets(configuration),
  };
}

/** Without its secret a source answers every delivery with 503, and nothing else would tell before. */
function missingSecrets({ sources, receiver }: Configuration): string[] {
  return Object.keys(sources)
    .filter((source) => !receiver.secrets.includes(secretName(source)))
    .map(
      (source) => `source ${source} has no secret: add "${secretName(source)}" to secrets.required in ${receiver.path}`,
    );
}

function unusedSecrets({ sources, receiver }: Configuration): string[] {
  const used = Object.keys(sources).map(secretName);
  return receiver.secrets
    .filter((name) => name.endsWith('_WEBHOOK_SECRET') && !used.includes(name))
    .map((name) => `${name} in secrets.required of ${receiver.path} belongs to no source: a deploy would demand it`);
}

/** An event that is sent again after its key has been forgotten is worked a second time. */
function forgottenTooEarly({ sources, receiver }: Configuration): string[] {
  const days = Number(receiver.vars.DEDUPE_DAYS);
  if (!(days > 0)) return [`DEDUPE_DAYS in [vars] of ${receiver.path} must be a number of days`];
  return Object.entries(sources).flatMap(([source, { provider }]) => {
    const { name, retriesForDays = 0 } = provider;
    if (retriesForDays < days) return [];
    return `source ${source}: ${name} retries for ${retriesForDays} days, but keys are forgotten after ${days}: set DEDUPE_DAYS in ${receiver.path} to ${retriesForDays + 1} or more`;
  });
}

function wrongNames({ receiver, consumer }: Configuration): string[] {
  const unnamed = [receiver, consumer].filter(({ name }) => name === '').map(({ path }) => `${path} has no name`);
  if (unnamed.length > 0 || receiver.name !== consumer.name) return unnamed;
  return [`${receiver.path} and ${consumer.path} have the same name: the second deploy would replace the first Worker`];
}

/** Four variables tell the consumer which queue holds what. A typo in one would leave the work of a queue undone. */
function wrongQueues({ receiver, consumer }: Configuration): string[] {
  const errors: string[] = [];
  const variableOf = new Map<string, string>();
  const queueOf = (variable: string): string | undefined => {
    const queue = consumer.vars[variable];
    const { path } = consumer;
    if (typeof queue !== 'string' || queue === '') errors.push(`${variable} is missing in [vars] of ${path}`);
    else if (!consumer.consumes.includes(queue)) errors.push(`${variable} is ${queue}, which ${path} doesn't consume`);
    else if (variableOf.has(queue))
      errors.push(`${variable} and ${variableOf.get(queue)} in ${path} are the same queue`);
    else {
      variableOf.set(queue, variable);
      return queue;
    }
    return undefined;
  };
  for (const kind of ['EVENTS', 'EFFECTS']) {
    const [queue, dead] = [queueOf(`${kind}_QUEUE`), queueOf(`${kind}_DEAD_QUEUE`)];
    if (!queue) continue;
    const configured = consumer.deadLetterQueues[queue] ?? 'not set';
    if (dead && configured !== dead) {
      errors.push(
        `${kind}_DEAD_QUEUE is ${dead}, but the dead letter queue of ${queue} in ${consumer.path} is ${configured}`,
      );
    }
    for (const { path, produces } of kind === 'EVENTS' ? [receiver] : [receiver, consumer]) {
      const target = produces[kind] ?? 'nothing';
      if (target === queue) continue;
      errors.push(
        `the producer ${kind} in ${path} sends to ${target}, but ${kind}_QUEUE in ${consumer.path} is ${queue}`,
      );
    }
  }
  if (errors.length > 0) return errors;
  const unnamed = consumer.consumes.filter((queue) => !variableOf.has(queue));
  return unnamed.map((queue) => `${consumer.path} consumes ${queue}, but none of its variables says what it holds`);
}

/** For `check` and `deploy`: everything that is wrong, in one error. */
export function assertConfigured(configuration: Configuration): readonly string[] {
  const { errors, hints } = checkConfiguration(configuration);
  if (errors.length > 0) throw new UserError(errors.join('\n'));
  return hints;
}
