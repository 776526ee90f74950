const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

let realFetch: typeof fetch | undefined;

/**
 * On a developer's machine, where DATABASE_URL is local, `fetch` refuses every host that is neither local nor in a
 * variable of the Worker. Otherwise a URL that is written into the code, or into a package, would be called for real
 * while somebody tries an event. A deployed Worker keeps its `fetch` as it is.
 */
export function guardFetch(env: object): void {
  if (!isLocal(hostOf(Reflect.get(env, 'DATABASE_URL')))) return;
  // Packages call the global function, so that is the one to replace.
  realFetch ??= globalThis.fetch;
  globalThis.fetch = guarded(realFetch, env);
}

function guarded(call: typeof fetch, env: object): typeof fetch {
  const known = new Set(Object.values(env).map(hostOf));
  return async (...request) => {
    const [input] = request;
    const host = hostOf(input instanceof Request ? input.url : String(input));
    if (host !== undefined && !isLocal(host) && !known.has(host)) {
      throw new Error(
        `no call to ${host} from a local run: put its URL into [vars] of wrangler.consumer.toml and read it from env`,
      );
    }
    return call(...request);
  };
}

function isLocal(host: string | undefined): boolean {
  return host !== undefined && LOOPBACK.includes(host);
}

function hostOf(url: unknown): string | undefined {
  return typeof url === 'string' ? URL.parse(url)?.hostname : undefined;
}
