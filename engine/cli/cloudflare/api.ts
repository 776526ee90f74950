import { CONFIGS, readConfig, readConfigs, type WorkerConfig } from '../config/worker-config.ts';
import { UserError } from '../lib/user-error.ts';
import { runWrangler } from './wrangler.ts';

/** An account. Wrangler deploys what it builds, and all else is done here: wrangler takes a second to start. */
export interface Account {
  readonly id: string;
  readonly name: string;
  /** What there is at a path below the account. `undefined`: nothing. */
  get<Result>(path: string): Promise<Result | undefined>;
  send(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<void>;
}

/** What setup and deploy do with a token. */
export const PERMISSIONS = 'Workers Scripts: Edit and Queues: Edit';
export const TOKENS_PAGE = 'https://dash.cloudflare.com/profile/api-tokens';

/** Wrangler reads this variable too. */
const BASE_URL = process.env.CLOUDFLARE_API_BASE_URL ?? 'https://api.cloudflare.com/client/v4';

/** Cloudflare's code for a Worker, or for a subdomain, that does not exist. */
const NOT_THERE = 10007;

export class ApiError extends UserError {
  readonly reason: string;
  readonly status: number;
  /** `remedy` is for somebody with an account. */
  constructor(reason: string, remedy: string, status: number) {
    super(`${reason}. ${remedy}`);
    this.reason = reason;
    this.status = status;
  }
}

interface AccountInfo {
  readonly id: string;
  readonly name: string;
}

/**
 * The account that wrangler would use: by an API token of the environment, or with wrangler's login. If that has several, and none is
 * named, it is the one with the id `preferred`.
 */
export async function openAccount(preferred?: string): Promise<Account> {
  const token = process.env.CLOUDFLARE_API_TOKEN || (await tokenOfLogin());
  const id = process.env.CLOUDFLARE_ACCOUNT_ID ?? readConfig(CONFIGS.receiver).raw.account_id;
  const account = id ? { id, name: id } : await oneAccount(token, preferred);
  // Wrangler would ask again.
  process.env.CLOUDFLARE_ACCOUNT_ID = account.id;
  const base = `/accounts/${account.id}`;
  return {
    ...account,
    get: (path) => callApi(token, 'GET', base + path),
    send: async (method, path, body) => void (await callApi(token, method, base + path, body)),
  };
}

/** Gives a Worker secrets, or takes away those that are `null`: in one request, so it never has only half of them. */
export function changeSecrets(
  account: Account,
  { name }: Pick<WorkerConfig, 'name'>,
  values: Readonly<Record<string, string | null>>,
): Promise<void> {
  const change = ([name, text]: [string, string | null]) => [name, text && { name, type: 'secret_text', text }];
  const secrets = Object.fromEntries(Object.entries(values).map(change));
  return account.send('PATCH', `/workers/scripts/${name}/secrets-bulk`, { secrets });
}

/** Where a Worker is reached. `undefined`: it has neither a domain of its own nor one of workers.dev. */
export async function addressOf(account: Account, { name, raw }: WorkerConfig): Promise<string | undefined> {
  // `routes = []` in an environment keeps out the route at the top of the file.
  const routes: (string | { pattern?: string; custom_domain?: boolean })[] = [raw.routes ?? raw.route ?? []].flat();
  for (const route of routes) if (typeof route === 'object' && route.custom_domain) return `https://${route.pattern}`;
  const found = await account.get<{ subdomain: string }>('/workers/subdomain');
  return found && raw.workers_dev !== false ? `https://${name}.${found.subdomain}.workers.dev` : undefined;
}

/** Where the deployed ops Worker of an environment is. */
export async function opsAddress(environment: string): Promise<string> {
  const { ops } = readConfigs(environment);
  const address = ops && (await addressOf(await openAccount(), ops));
  if (address) return address;
  throw new UserError(
    `there is no address of an ops Worker: ${CONFIGS.ops} is missing, or gives it none. Name it with --url`,
  );
}

async function tokenOfLogin(): Promise<string> {
  const { isDone, out } = await runWrangler(['auth', 'token', '--json']);
  if (!isDone) {
    throw new UserError(
      `nobody is logged in to Cloudflare: npx wrangler login, or make a token with ${PERMISSIONS} (${TOKENS_PAGE}) and set CLOUDFLARE_API_TOKEN`,
    );
  }
  const { token } = JSON.parse(out) as { readonly token?: string };
  if (token) return token;
  throw new UserError(
    'set CLOUDFLARE_API_TOKEN, or log in with npx wrangler login, because an API key is not limited to what this needs',
  );
}

async function oneAccount(token: string, preferred: string | undefined): Promise<AccountInfo> {
  const accounts = (await callApi<AccountInfo[]>(token, 'GET', '/accounts?per_page=50')) ?? [];
  const account = accounts.length === 1 ? accounts[0] : accounts.find(({ id }) => id === preferred);
  if (account) return account;
  const named = accounts.map(({ id, name }) => `${id} (${name})`).join(', ');
  throw new UserError(`set CLOUDFLARE_ACCOUNT_ID to the account that is meant: ${named || 'this login sees none'}`);
}

/** Without a token, it asks what strangers may ask. */
export async function callApi<Result>(
  token: string,
  method: string,
  path: string,
  body?: object,
): Promise<Result | undefined> {
  let response: Response;
  try {
    response = await fetch(`${BASE_URL}${path}`, {
      method,
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      },
      // Setup and deploy hold a lock meanwhile, which a call without an answer would keep.
      signal: AbortSignal.timeout(60_000),
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
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
  if (method === 'GET' && error?.code === NOT_THERE) return undefined;
  const place = path.replaceAll(/^\/accounts\/[^/]+|\?.*/g, '');
  const why = error ? `${error.message} (${error.code})` : `HTTP ${response.status}`;
  const { status } = response;
  if (status === 401 || status === 403) {
    const does = method === 'GET' ? 'read' : 'change';
    const reason = `this login or token may not ${does} ${place} at Cloudflare: ${why}`;
    throw new ApiError(reason, `A token needs ${PERMISSIONS} (${TOKENS_PAGE})`, status);
  }
  const does = method === 'GET' ? 'answer' : 'take';
  throw new ApiError(`Cloudflare did not ${does} ${place}: ${why}`, 'Run this again', status);
}
