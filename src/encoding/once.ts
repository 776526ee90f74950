/**
 * Makes something of a key the first time that it is asked for, and keeps it. For keys of which there are few, such as a
 * provider, one of its templates or a secret: nothing is ever forgotten.
 */
export function once<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, { readonly value: Value }>();
  return (key) => {
    const known = made.get(key);
    if (known) return known.value;
    const value = make(key);
    made.set(key, { value });
    return value;
  };
}
