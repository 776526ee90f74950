/**
 * Keeps what `make` returns for a key, memoized. Only for keys of which there are few, and which live as long as the
 * isolate: a source, a provider, one of its templates, a secret.
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
