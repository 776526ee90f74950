import { handlerOf } from '../../src/consumer/find-handler.ts';
import type { Handlers, Source } from '../../src/kit/index.ts';
import { secretName } from '../../src/receiver/secrets.ts';
import { namedTypes, problemOfPattern } from '../../src/shared/event-types.ts';
import { UserError } from '../lib/user-error.ts';
import { TENANTS_KEY } from './secret-form.ts';
import { listed, type WorkerConfig, type WorkerConfigs } from './worker-config.ts';

export interface Configuration extends WorkerConfigs {
  readonly sources: Readonly<Record<string, Source>>;
}

export interface Findings {
  /** Problems that would fail in production. Each says what is wrong and what to do. */
  readonly errors: readonly string[];
  /** Probable mistakes. */
  readonly hints: readonly string[];
}

/** Compares the wrangler files with each other and with the sources. */
export function checkConfiguration(configuration: Configuration): Findings {
  return {
    errors: [
      ...missingSecrets(configuration),
      ...missingTenantsKey(configuration),
      ...wrongTypes(configuration),
      ...forgottenTooEarly(configuration),
      ...wrongNames(configuration),
      ...wrongQueues(configuration),
    ],
    hints: [...unusedSecrets(configuration)],
  };
}

/** Without its secret, a source answers every delivery with 503, which is noticed only in production. */
function missingSecrets({ sources, receiver }: Configuration): string[] {
  return withOneSecret(sources)
    .filter((source) => !receiver.secrets.includes(secretName(source)))
    .map(
      (source) => `source ${source} has no secret: add "${secretName(source)}" to secrets.required in ${receiver.path}`,
    );
}

/** Each tenant of the other sources has a secret of its own. */
function withOneSecret(sources: Configuration['sources']): string[] {
  return Object.keys(sources).filter((source) => !sources[source]?.tenants);
}

/** The receiver verifies with it, and the ops Worker makes tenants with it. */
function missingTenantsKey({ sources, receiver, ops }: Configuration): string[] {
  const source = Object.keys(sources).find((name) => sources[name]?.tenants);
  if (source === undefined) return [];
  return [receiver, ...(ops ? [ops] : [])]
    .filter(({ secrets }) => !secrets.includes(TENANTS_KEY))
    .map(({ path }) => `source ${source} has tenants: add "${TENANTS_KEY}" to secrets.required in ${path}`);
}

function wrongTypes({ sources }: Configuration): string[] {
  return Object.entries(sources).flatMap(([source, { types }]) =>
    types === '*'
      ? []
      : types.flatMap((type) => {
          if (type === '*') return `source ${source} lists the type "*": write types: '*' in src/sources.ts`;
          const problem = problemOfPattern(type);
          return problem ? `source ${source} has the type ${problem}` : [];
        }),
  );
}

function unusedSecrets({ sources, receiver, consumer, ops }: Configuration): string[] {
  const withSecret = withOneSecret(sources);
  const used = withSecret.map(secretName);
  const hasTenants = withSecret.length < Object.keys(sources).length;
  const unused = (config: WorkerConfig, isUnused: (name: string) => boolean) =>
    config.secrets
      .filter(isUnused)
      .map((name) => `${name} in secrets.required of ${config.path} belongs to no source: a deploy would demand it`);
  const isForTenants = (name: string) => name.startsWith(TENANTS_KEY);
  return [
    ...unused(receiver, (name) => name.endsWith('_WEBHOOK_SECRET') && !used.includes(name)),
    ...(hasTenants ? [] : [receiver, ...(ops ? [ops] : [])].flatMap((config) => unused(config, isForTenants))),
    ...consumer.secrets
      .filter(isForTenants)
      .map((name) => `remove ${name} from secrets.required of ${consumer.path}: a handler could read it`),
  ];
}

/** If a provider retries after the event's key has been forgotten, the event is worked a second time. */
function forgottenTooEarly({ sources, consumer }: Configuration): string[] {
  const days = Number(consumer.vars.DEDUPE_DAYS);
  if (!(days >= 1)) return [`DEDUPE_DAYS in [vars] of ${consumer.path} must be a number of days`];
  return Object.entries(sources).flatMap(([source, { provider }]) => {
    const { name, retriesForDays = 0 } = provider;
    if (retriesForDays < days) return [];
    return `source ${source}: ${name} retries for ${retriesForDays} days, but keys are forgotten after ${days}: set DEDUPE_DAYS in ${consumer.path} to ${retriesForDays + 1} or more`;
  });
}

function wrongNames(configuration: Configuration): string[] {
  const workers = listed(configuration);
  return workers.flatMap(({ path, name }, index) => {
    if (name === '') return `${path} has no name`;
    const same = workers.slice(0, index).find((other) => other.name === name);
    return same ? `${same.path} and ${path} have the same name: the second deploy would replace the first Worker` : [];
  });
}

/** Four variables tell the consumer what each queue contains. With a typo in one, that queue's work is never done. */
function wrongQueues(configuration: Configuration): string[] {
  const { receiver, consumer } = configuration;
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
    const queue = queueOf(`${kind}_QUEUE`);
    const dead = queueOf(`${kind}_DEAD_QUEUE`);
    if (!queue) continue;
    const configured = consumer.deadLetterQueues[queue] ?? 'not set';
    if (dead && configured !== dead) {
      errors.push(
        `${kind}_DEAD_QUEUE is ${dead}, but the dead letter queue of ${queue} in ${consumer.path} is ${configured}`,
      );
    }
    // The receiver sends only event tickets. The other Workers also send effect tickets.
    for (const worker of listed(configuration)) {
      if (worker === receiver && kind === 'EFFECTS') continue;
      const target = worker.produces[kind] ?? 'nothing';
      if (target === queue) continue;
      errors.push(
        `the producer ${kind} in ${worker.path} sends to ${target}, but ${kind}_QUEUE in ${consumer.path} is ${queue}`,
      );
    }
  }
  if (errors.length > 0) return errors;
  const unnamed = consumer.consumes.filter((queue) => !variableOf.has(queue));
  return unnamed.map((queue) => `${consumer.path} consumes ${queue}, but none of its variables says what it holds`);
}

/** Throws one error with all problems, for `check`, `deploy` and `setup`. */
export function assertConfigured(configuration: Configuration): readonly string[] {
  const { errors, hints } = checkConfiguration(configuration);
  const { environment } = configuration.receiver;
  const where = environment === '' ? '' : `environment ${environment}: `;
  if (errors.length > 0) throw new UserError(errors.map((error) => where + error).join('\n'));
  return hints;
}

/** Two environments must not share a Worker or a queue, because a deploy of one would change the other. */
export function sharedByEnvironments(all: readonly WorkerConfigs[]): string[] {
  const owner = new Map<string, string>();
  return all.flatMap(listed).flatMap((config) => {
    const { name, consumes } = config;
    return [`the name ${name}`, ...consumes.map((queue) => `the queue ${queue}`)].flatMap((one) => {
      const taken = owner.get(one);
      owner.set(one, placeOf(config));
      return taken ? [`${placeOf(config)} and ${taken} share ${one}: two environments never share one`] : [];
    });
  });
}

/** Names that one environment has and another lacks. The first environment is the unnamed one. */
export function differencesBetween([first, ...others]: readonly WorkerConfigs[]): string[] {
  return others.flatMap(listed).flatMap((config) => {
    const original = first && listed(first).find(({ path }) => path === config.path);
    if (!original) return [];
    const expected = namesIn(original);
    const names = namesIn(config);
    const place = placeOf(config);
    return [
      ...expected
        .filter((one) => !names.includes(one))
        .map((one) => `${place} lacks ${one}, which the file has at the top`),
      ...names
        .filter((one) => !expected.includes(one))
        .map((one) => `${place} has ${one}, which the file lacks at the top`),
    ];
  });
}

function placeOf({ path, environment }: WorkerConfig): string {
  return environment === '' ? path : `[env.${environment}] in ${path}`;
}

/** All names that a Worker's code can read from its environment. */
function namesIn({ vars, secrets, raw }: WorkerConfig): string[] {
  const lists = Object.values({ ...raw, ...raw.queues })
    .filter(Array.isArray)
    .flat();
  return [
    ...Object.keys(vars).map((name) => `the variable ${name}`),
    ...secrets.map((name) => `the required secret ${name}`),
    ...lists.filter((one) => one?.binding).map(({ binding }) => `the binding ${binding}`),
  ];
}

/** A hint for each type of a source without a handler, because its events will be parked. */
export function typesWithoutHandler(sources: Readonly<Record<string, Source>>, handlers: Handlers): string[] {
  return Object.entries(sources).flatMap(([source, { types }]) =>
    namedTypes(types)
      .filter((type) => handlerOf({ source, type }, handlers) === undefined)
      .map((type) => `no handler for ${source}/${type}: write one, or remove the type from src/sources.ts`),
  );
}
