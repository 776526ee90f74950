/**
 * Keeps what `make` returns for a key, memoized. Only for keys of which there are few, and which live as long as the
 * isolate: a source, a provider, one of its templates. If there may be many, `max` is how many are kept: the one that was made
 * first goes.
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
