/**
 * Caches results for the life of the isolate. Only for a small set of keys, such as sources or their templates. With `max`, the
 * oldest result is removed, so that there may be many keys.
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

/** How many keys made of secrets are kept, because a source may have any number of tenants. An imported key takes about 1 KiB. */
export const MAX_SECRETS = 2000;
