/** What the proxy of `npm run dev` (engine/cli/dev/proxy.ts) tells the front Worker. A file of its own, because a Worker exports nothing else. */
export const SECRET_HEADER = 'x-local-front';
