/**
 * Reads the values of one key in a list header. Lists are written `t=1,v1=abc` (Stripe), `ts=1;h1=abc` (Paddle) or
 * `v1,abc v1,def` (Standard Webhooks), so an entry is `key=value` or `key,value`, and entries are separated by a comma,
 * a semicolon or white space.
 */
export function listReader(key: string): (header: string) => string[] {
  const entry = new RegExp(`(?:^|[,;\\s])${key}[=,]([^,;\\s]*)`, 'g');
  return (header) => {
    const values: string[] = [];
    // `matchAll` would copy the expression each time, and take several times as long.
    for (let match = entry.exec(header); match !== null; match = entry.exec(header)) values.push(match[1] ?? '');
    return values;
  };
}
