import { env } from 'cloudflare:workers';
import { isLoopback } from '../../src/shared/settings.ts';

/**
 * On this machine the consumer loads this file first (worker-copies.ts): `fetch` then refuses every host that is neither
 * local nor in a variable of the Worker. Otherwise a URL that is written into the code, or into a package, would be called
 * for real while somebody tries an event. It is never deployed.
 */
const known = new Set(Object.values(env).map(hostOf));
const call = globalThis.fetch;

// Packages call the global function, so that is the one to replace.
globalThis.fetch = async (...request) => {
  const [input] = request;
  const host = hostOf(input instanceof Request ? input.url : String(input));
  if (host !== undefined && !isLoopback(host) && !known.has(host)) {
    throw new Error(
      `no call to ${host} from a local run: put its URL into [vars] of wrangler.consumer.toml and read it from env`,
    );
  }
  return call(...request);
};

function hostOf(url: unknown): string | undefined {
  return typeof url === 'string' ? URL.parse(url)?.hostname : undefined;
}
