import type { Batch } from '../providers/types.ts';
import { jsonAt } from './places.ts';

/**
 * The items of a batch, in their order; `undefined` where the body holds no such list at all. An empty list is a
 * batch too (Asana sends one as a heartbeat, Xero to see whether signatures are checked). Where the body itself is the
 * list, a single object is a list of one: Auth0 sends its entries one by one if it is told so.
 */
export function itemsOf({ each, envelope }: Batch, json: unknown): unknown[] | undefined {
  const paths = each.map((path) => path.split('.'));
  if (each[0] === '*' && typeof json === 'object' && json !== null && !Array.isArray(json)) return [json];
  const first = each[0]?.split('*')[0]?.replace(/\.$/, '') ?? '';
  if (!Array.isArray(first === '' ? json : jsonAt(first, json))) return undefined;

  const taken = new Set<unknown>();
  const items: unknown[] = [];
  for (const path of paths) {
    for (const { item, elements } of walk(json, path)) {
      if (taken.has(elements.at(-1))) continue;
      // A null or a number is the same wherever it stands, and nothing can lie deeper in it.
      for (const element of elements) if (typeof element === 'object' && element !== null) taken.add(element);
      items.push(envelope ? alone(json, path, elements, paths) : item);
    }
  }
  return items;
}

interface Found {
  readonly item: unknown;
  /** The elements that the stars of the path stand for, outermost first. */
  readonly elements: readonly unknown[];
}

function* walk(value: unknown, [key, ...rest]: readonly string[], elements: readonly unknown[] = []): Generator<Found> {
  if (key === undefined) yield { item: value, elements };
  else if (key !== '*') {
    const next = jsonAt(key, value);
    if (next !== undefined) yield* walk(next, rest, elements);
  } else if (Array.isArray(value)) {
    for (const element of value) yield* walk(element, rest, [...elements, element]);
  }
}

/** A copy of the body in which each list on the way holds only the item's own element, and no list of other items is left. */
function alone(
  value: unknown,
  path: readonly string[],
  elements: readonly unknown[],
  paths: readonly (readonly string[])[],
  depth = 0,
): unknown {
  const key = path[depth];
  if (key === undefined || typeof value !== 'object' || value === null) return value;
  if (key === '*') return [alone(elements[0], path, elements.slice(1), paths, depth + 1)];
  const others = paths.filter(
    (other) => other[depth + 1] === '*' && path.slice(0, depth).join() === other.slice(0, depth).join(),
  );
  const lists = new Set(others.map((other) => other[depth]));
  const kept = Object.entries(value).filter(([name]) => name === key || !lists.has(name));
  return Object.fromEntries(
    kept.map(([name, part]) => [name, name === key ? alone(part, path, elements, paths, depth + 1) : part]),
  );
}
