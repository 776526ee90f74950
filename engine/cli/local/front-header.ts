/**
 * The header with which the proxy of `npm run dev` (engine/cli/dev/proxy.ts) proves itself to the front Worker. In a
 * separate file, because a Worker's file must not export anything else.
 */
export const SECRET_HEADER = 'x-local-front';
