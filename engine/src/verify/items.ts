import type { Batch, Envelope } from '../providers/types.ts';
import { memoize } from '../shared/memoize.ts';
import { jsonAt } from './places.ts';

/**
 * Generates the items of a batch in order, one at a time, so that a caller can stop early. Returns `undefined` if the
 * body has no such list. An empty list is a valid batch: Asana sends one as a heartbeat, and Xero to test whether
 * signatures are checked. If the body itself should be the list, a single object counts as a list of one, because Auth0
 * can be configured to send its entries one by one.
 */
export function itemsOf({ each, envelope }: Batch, json: unknown): Iterable<unknown> | undefined {
  if (each[0] === '*' && typeof json === 'object' && json !== null && !Array.isArray(json)) return [json];
  const first = each[0]?.split('*')[0]?.replace(/\.$/, '') ?? '';
  if (!Array.isArray(first === '' ? json : jsonAt(first, json))) return undefined;
  const paths = each.map((path) => path.split('.'));
  return generateItems(paths, envelope, json);
}

type Path = readonly string[];

function* generateItems(paths: readonly Path[], envelope: Envelope | undefined, json: unknown): Generator<unknown> {
  const taken = new Set<unknown>();
  const pick = envelope && elementPicker(envelope);
  for (const path of paths) {
    const lists = path.map((_key, depth) => otherListsAt(depth, path, paths));
    for (const { item, elements } of walk(json, path)) {
      if (taken.has(elements.at(-1))) continue;
      // Only objects have an identity: the number 7 in one list is not the number 7 in another.
      for (const element of elements) if (typeof element === 'object' && element !== null) taken.add(element);
      yield pick ? copyAround({ item, path, lists, pick }, json, elements) : item;
    }
  }
}

/** An item and the list elements on the path to it: one for each `*`, outermost first. */
type Match = { readonly item: unknown; readonly elements: readonly unknown[] };

function* walk(value: unknown, [key, ...rest]: Path, elements: readonly unknown[] = []): Generator<Match> {
  if (key === undefined) yield { item: value, elements };
  else if (key !== '*') {
    const next = jsonAt(key, value);
    if (next !== undefined) yield* walk(next, rest, elements);
  } else if (Array.isArray(value)) {
    for (const element of value) yield* walk(element, rest, [...elements, element]);
  }
}

/** The properties at this depth whose lists belong to other paths. */
function otherListsAt(depth: number, path: Path, paths: readonly Path[]): ReadonlySet<string | undefined> {
  const parent = path.slice(0, depth).join('.');
  const others = paths.filter((other) => other[depth + 1] === '*' && other.slice(0, depth).join('.') === parent);
  return new Set(others.map((other) => other[depth]));
}

interface ItemToCopy {
  readonly item: unknown;
  readonly path: Path;
  /** For each depth of the path, the lists to leave out. */
  readonly lists: readonly ReadonlySet<string | undefined>[];
  readonly pick: ReturnType<typeof elementPicker>;
}

/** A copy of the body in which every list on the path to the item holds only the item's own element. */
function copyAround(copied: ItemToCopy, value: unknown, elements: readonly unknown[], depth = 0): unknown {
  const key = copied.path[depth];
  if (key === undefined || typeof value !== 'object' || value === null) return value;
  if (key === '*') return [copyAround(copied, elements[0], elements.slice(1), depth + 1)];
  const entries: [string, unknown][] = [];
  for (const [name, part] of Object.entries(value)) {
    if (name === key) entries.push([name, copyAround(copied, part, elements, depth + 1)]);
    else if (!copied.lists[depth]?.has(name)) entries.push([name, copied.pick(name, part, copied.item)]);
  }
  return Object.fromEntries(entries);
}

/**
 * Filters a list that is beside the items down to the elements of one item. If every copy kept the whole list, n
 * messages with n contacts would take n² bytes: 157 KiB became 0.8 GB.
 */
function elementPicker({ list, elementIds, itemIds }: Envelope) {
  // Index each list once, not once for every item.
  const elementsById = memoize((elements: readonly unknown[]) => {
    const entries = elements.flatMap((element) => idsIn(element, elementIds).map((id) => ({ id, element })));
    return Map.groupBy(entries, ({ id }) => id);
  });
  return (name: string, value: unknown, item: unknown): unknown => {
    // Keep a list of one element even if it doesn't match, because it can't make the copies grow.
    if (name !== list || !Array.isArray(value) || value.length === 1) return value;
    const own = idsIn(item, itemIds).flatMap((id) => elementsById(value).get(id) ?? []);
    return [...new Set(own.map(({ element }) => element))];
  };
}

function idsIn(value: unknown, properties: readonly string[]): string[] {
  return properties.map((property) => jsonAt(property, value)).filter((id) => typeof id === 'string');
}
