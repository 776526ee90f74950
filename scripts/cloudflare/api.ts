import { CONFIGS, readConfig } from '../config/worker-config.ts';
import { UserError } from '../lib/user-error.ts';
import { askWrangler } from './wrangler.ts';

/** A look at what there is in an account. What changes something is done by wrangler. */
export interface Account {
  /** What there is at a path below the account. `undefined`: nothing. */
  get<Result>(path: string): Promise<Result | undefined>;
}

/** Wrangler reads this variable too. */
const BASE_URL = process.env.CLOUDFLARE_API_BASE_URL ?? 'https://api.cloudflare.com/client/v4';

/** Cloudflare's code for a Worker that does not exist. */
const NO_SUCH_WORKER = 10007;

/** The account that wrangler would use: by an API token of the environment, or as the one who has logged in. */
export async function openAccount(): Promise<Account> {
  const token = process.env.CLOUDFLARE_API_TOKEN ?? (await tokenOfLogin());
  const id =
    process.env.CLOUDFLARE_ACCOUNT_ID ?? readConfig(CONFIGS.receiver).raw.account_id ?? (await onlyAccount(token));
  return { get: (path) => get(token, `/accounts/${id}${path}`) };
}

async function tokenOfLogin(): Promise<string> {
  const { token } = await askWrangler<{ token?: string }>(['auth', 'token', '--json']);
  if (token) return token;
  throw new UserError(
    'set CLOUDFLARE_API_TOKEN, or log in with npx wrangler login: an API key with an e-mail address may do everything',
  );
}

async function onlyAccount(token: string): Promise<string> {
  const accounts = (await get<{ id: string; name: string }[]>(token, '/accounts')) ?? [];
  const [account] = accounts;
  if (account && accounts.length === 1) return account.id;
  const named = accounts.map(({ id, name }) => `${id} (${name})`).join(', ');
  throw new UserError(`set CLOUDFLARE_ACCOUNT_ID to the account that is meant: ${named || 'this login sees none'}`);
}

async function get<Result>(token: string, path: string): Promise<Result | undefined> {
  let response: Response;
  try {
    response = await fetch(`${BASE_URL}${path}`, { headers: { authorization: `Bearer ${token}` } });
  } catch {
    throw new UserError("Cloudflare's API could not be reached: check the network, and run this again");
  }
  const { success, result, errors } = (await response.json().catch(() => ({}))) as {
    success?: boolean;
    result?: Result;
    errors?: readonly { code: number; message: string }[];
  };
  if (success) return result;
  const [error] = errors ?? [];
  if (error?.code === NO_SUCH_WORKER) return undefined;
  const place = path.replace(/^\/accounts\/[^/]+/, '');
  const why = error ? `${error.message} (${error.code})` : `HTTP ${response.status}`;
  throw new UserError(
    response.status === 401 || response.status === 403
      ? `this login or token may not read ${place} at Cloudflare: ${why}. A token needs Workers Scripts: Edit and Queues: Edit`
      : `Cloudflare did not answer ${place}: ${why}. Run this again`,
  );
}
