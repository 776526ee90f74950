import type { Batch, Envelope } from '../providers/types.ts';
import { memoize } from '../shared/memoize.ts';
import { jsonAt } from './places.ts';

/**
 * The items of a batch in their order, made one by one, so that a caller who stops early has only paid for what it
 * took. `undefined` if the body has no such list at all. An empty list is a batch too: Asana sends one as a heartbeat,
 * and Xero to test whether signatures are checked. If the body itself should be the list, a single object is a list of
 * one: Auth0 can be configured to send its entries one by one.
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
      // Only objects: the number 7 in one list is not the number 7 in another, and no path leads into a number.
      for (const element of elements) if (typeof element === 'object' && element !== null) taken.add(element);
      yield pick ? copyAround({ item, path, lists, pick }, json, elements) : item;
    }
  }
}

/** An item, and the list elements on the way to it: one for each `*` of the path, outermost first. */
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

/** The properties at this depth that are lists of items of other paths. */
function otherListsAt(depth: number, path: Path, paths: readonly Path[]): ReadonlySet<string | undefined> {
  const parent = path.slice(0, depth).join('.');
  const others = paths.filter((other) => other[depth + 1] === '*' && other.slice(0, depth).join('.') === parent);
  return new Set(others.map((other) => other[depth]));
}

interface ItemToCopy {
  readonly item: unknown;
  readonly path: Path;
  /** For each depth of the path, the lists that are left out. */
  readonly lists: readonly ReadonlySet<string | undefined>[];
  readonly pick: ReturnType<typeof elementPicker>;
}

/** A copy of the body in which every list on the way to the item holds only the item's own element. */
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
 * Picks the elements of a list beside the items that belong to one item. With all of them in every copy, n messages
 * with n contacts would take n² bytes: 157 KiB became 0.8 GB.
 */
function elementPicker({ list, elementIds, itemIds }: Envelope) {
  // Each list is searched once, not once for every item.
  const elementsById = memoize((elements: readonly unknown[]) => {
    const entries = elements.flatMap((element) => idsIn(element, elementIds).map((id) => ({ id, element })));
    return Map.groupBy(entries, ({ id }) => id);
  });
  return (name: string, value: unknown, item: unknown): unknown => {
    // A list of one element is kept as it is, matching or not: it doesn't make the copies grow.
    if (name !== list || !Array.isArray(value) || value.length === 1) return value;
    const own = idsIn(item, itemIds).flatMap((id) => elementsById(value).get(id) ?? []);
    return [...new Set(own.map(({ element }) => element))];
  };
}

function idsIn(value: unknown, properties: readonly string[]): string[] {
  return properties.map((property) => jsonAt(property, value)).filter((id) => typeof id === 'string');
}
