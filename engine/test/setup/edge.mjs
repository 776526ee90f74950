// Preloaded into the commands that a test runs (NODE_OPTIONS): at the network's edge, the addresses of Cloudflare and Neon
// lead to the stand-ins, and no other host is reached. The commands themselves know nothing of it.
import dns from 'node:dns';

const { EDGE_URL } = process.env;
const { fetch: realFetch } = globalThis;
const { lookup } = dns;

globalThis.fetch = async (input, init) => {
  const request = new Request(input, init);
  const { hostname, pathname, search } = new URL(request.url);
  if (hostname === '127.0.0.1' || hostname === 'localhost') return realFetch(request);
  if (!/\.workers\.dev$|^neon\.new$/.test(hostname)) throw new TypeError(`no test reaches ${hostname}`);
  const headers = new Headers(request.headers);
  headers.set('x-edge-host', hostname);
  const body = request.body ? await request.arrayBuffer() : undefined;
  const { method, redirect, signal } = request;
  return realFetch(`${EDGE_URL}${pathname}${search}`, { method, headers, body, redirect, signal });
};

dns.lookup = (hostname, options, callback) =>
  lookup(hostname.endsWith('.neon.tech') ? '127.0.0.1' : hostname, options, callback);
