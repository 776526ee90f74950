import type { Checkout } from '../checkout.ts';

/** Runs `npm run ops` as a script does: without a terminal. */
export async function startOps(checkout: Checkout, args: readonly string[], env: Record<string, string>) {
  const cut = { OPS_TOKEN: '', CF_ACCESS_CLIENT_ID: '', CF_ACCESS_CLIENT_SECRET: '' };
  // Times without a zone are in UTC, wherever the operator is.
  const { code, out, error } = await checkout.call(['ops', ...args], { ...cut, TZ: 'America/New_York', ...env });
  return { code, out, err: error };
}
