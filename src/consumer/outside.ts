const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/**
 * `fetch` for handlers and effects. On a developer's machine, where DATABASE_URL is local, it refuses every host that is
 * neither local nor in a variable of the Worker. Otherwise a URL that is written into the code would be called for
 * real while somebody tries an event.
 */
export function fetchFor(env: object): typeof fetch {
  const databaseHost = hostOf(Reflect.get(env, 'DATABASE_URL'));
  if (!isLocal(databaseHost)) return (...request) => fetch(...request);
  const known = new Set(Object.values(env).map(hostOf));
  return async (...request) => {
    const [input] = request;
    const host = hostOf(input instanceof Request ? input.url : String(input));
    if (host !== undefined && !isLocal(host) && !known.has(host)) {
      throw new Error(
        `no call to ${host} from a local run: put its URL into [vars] of wrangler.consumer.toml and read it from env`,
      );
    }
    return fetch(...request);
  };
}

function isLocal(host: string | undefined): boolean {
  return host !== undefined && LOOPBACK.includes(host);
}

function hostOf(url: unknown): string | undefined {
  return typeof url === 'string' ? URL.parse(url)?.hostname : undefined;
}
