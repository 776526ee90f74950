import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { LoadedEvent, WorkableEvent } from '../db/load.ts';
import { queryOf } from '../db/statement.ts';
import { parseJson } from '../encoding/json.ts';
import { type Event, type Handler, type Handlers, PermanentError, type Tools } from '../kit/index.ts';
import { type CheckedChanges, checkChanges, explainRefusal } from './changes.ts';

/** What a handler wants for its event. An event without a handler is `ignored`, which is not an error. */
export interface Answer {
  readonly status: 'done' | 'ignored';
  readonly summary: string;
  readonly changes: CheckedChanges;
}

export function handlerOf({ source, type }: LoadedEvent, handlers: Handlers): Handler | undefined {
  const ofSource = Object.hasOwn(handlers, source) ? handlers[source] : undefined;
  return ofSource && type !== null && Object.hasOwn(ofSource, type) ? ofSource[type] : undefined;
}

/** Asks the event's handler what to change. Throws what the handler throws. */
export async function askHandler(loaded: WorkableEvent, handlers: Handlers, tools: Tools): Promise<Answer> {
  const handler = handlerOf(loaded, handlers);
  if (handler === undefined) {
    return {
      status: 'ignored',
      summary: `no handler for ${loaded.type ?? 'an event without a type'}`,
      changes: NO_CHANGES,
    };
  }
  const event: Event = {
    source: loaded.source,
    id: loaded.eventId,
    type: loaded.type,
    occurredAt: loaded.occurredAt ?? loaded.receivedAt,
    receivedAt: loaded.receivedAt,
    data: await readPayload(loaded.body, handler.schema),
    raw: loaded.body,
    headers: loaded.headers,
  };
  const changes = await changesOf(handler, event, tools);
  const { length } = changes.statements;
  const names = changes.effects.map(({ name }) => name);
  const summary = [`${length} ${length === 1 ? 'change' : 'changes'}`, ...names].join(', ');
  return { status: 'done', summary, changes };
}

const NO_CHANGES: CheckedChanges = { statements: [], effects: [] };

async function changesOf(handler: Handler, event: Event, tools: Tools): Promise<CheckedChanges> {
  try {
    // The type of `data` is what the handler's own schema returned.
    const answer: unknown = handler.handle(event as Event<never>, tools);
    // A statement without an array would run if it were awaited.
    return checkChanges(queryOf(answer) ? answer : await answer);
  } catch (error) {
    throw explainRefusal(error);
  }
}

/** The error names the paths that failed and never a value, because more people read errors than payloads. */
async function readPayload(raw: string, schema: StandardSchemaV1 | undefined): Promise<unknown> {
  const parsed = parseJson(raw);
  if (parsed.outcome === 'malformed') throw new PermanentError('the body is not JSON');
  if (schema === undefined) return parsed.json;
  const result = await schema['~standard'].validate(parsed.json);
  if (result.issues === undefined) return result.value;
  const paths = result.issues.map(({ path = [] }) =>
    path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.'),
  );
  throw new PermanentError(`the payload does not match the handler's schema at ${paths.join(', ') || 'its root'}`);
}
