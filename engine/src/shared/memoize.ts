/**
 * Caches what `make` returns for each key, for the life of the isolate. Only for a small set of keys: sources,
 * providers, their templates, secrets.
 */
export function memoize<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, { readonly value: Value }>();
  return (key) => {
    const known = made.get(key);
    if (known) return known.value;
    const value = make(key);
    made.set(key, { value });
    return value;
  };
}
