/**
 * Caches what `make` returns for each key, for the life of the isolate. Only for a small set of keys: sources,
 * providers, their templates. If there may be many keys, set `max`: then the oldest one is removed.
 */
export function memoize<Key, Value>(make: (key: Key) => Value, max = Number.POSITIVE_INFINITY): (key: Key) => Value {
  const made = new Map<Key, { readonly value: Value }>();
  return (key) => {
    const known = made.get(key);
    if (known) return known.value;
    const value = make(key);
    made.set(key, { value });
    if (made.size > max) made.delete(made.keys().next().value as Key);
    return value;
  };
}

/** Of the keys that are made of secrets: a source may have any number of tenants. A key that was imported takes about 1 KiB. */
export const MAX_SECRETS = 2000;
