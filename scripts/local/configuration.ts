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
  const named = new Map<string, string>();
  for (const kind of ['EVENTS', 'EFFECTS']) {
    const [queue, dead] = [`${kind}_QUEUE`, `${kind}_DEAD_QUEUE`].map((variable) => {
      const value = consumer.vars[variable];
      if (typeof value !== 'string' || value === '')
        errors.push(`${variable} is missing in [vars] of ${consumer.path}`);
      else if (!consumer.consumes.includes(value))
        errors.push(`${variable} is ${value}, which ${consumer.path} doesn't consume`);
      else if (named.has(value))
        errors.push(`${variable} and ${named.get(value)} in ${consumer.path} are the same queue`);
      else named.set(value, variable);
      return String(value);
    });
    if (queue === undefined || !named.has(queue)) continue;
    const deadLetters = consumer.deadLetterQueues[queue];
    if (deadLetters !== dead) {
      errors.push(
        `${kind}_DEAD_QUEUE is ${dead}, but the dead letter queue of ${queue} in ${consumer.path} is ${deadLetters ?? 'not set'}`,
      );
    }
    for (const { path, produces } of kind === 'EVENTS' ? [receiver] : [receiver, consumer]) {
      if (produces[kind] !== queue) {
        errors.push(
          `the producer ${kind} in ${path} sends to ${produces[kind] ?? 'nothing'}, but ${kind}_QUEUE in ${consumer.path} is ${queue}`,
        );
      }
    }
  }
  const unnamed = consumer.consumes.filter((queue) => !named.has(queue));
  if (errors.length > 0) return errors;
  return unnamed.map(
    (queue) => `${consumer.path} consumes ${queue}, but none of its variables says what this queue holds`,
  );
}

/** For `check` and `deploy`: everything that is wrong, in one error. */
export function assertConfigured(configuration: Configuration): readonly string[] {
  const { errors, hints } = checkConfiguration(configuration);
  if (errors.length > 0) throw new UserError(errors.join('\n'));
  return hints;
}
