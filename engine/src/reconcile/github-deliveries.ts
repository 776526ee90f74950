import { RetryLater, withFailure } from '../kit/errors.ts';
import { errorFromResponse } from '../kit/index.ts';
import { parseJson } from '../shared/json.ts';
import { settingOf } from '../shared/settings.ts';
import { type ListedDeliveries, ReconcileError, type ReconcileTools } from './kinds.ts';

interface Options {
  /** The hook's path in the API: `orgs/acme/hooks/1` or `repos/acme/app/hooks/1`. */
  readonly hook: `orgs/${string}/hooks/${number}` | `repos/${string}/${string}/hooks/${number}`;
  /** The name of the secret that holds a token. The token needs only the permission to write webhooks. */
  readonly token: string;
  /** For GitHub Enterprise Server: `https://github.example.com/api/v3`. */
  readonly api?: string;
}

/**
 * Reconciles a GitHub webhook. GitHub lists deliveries for three days (Enterprise Server: seven) and never retries by
 * itself. Each missing delivery is requested again, at most three times. A GitHub App's hook needs another kind of
 * token and is not supported.
 *
 * @example
 * export const reconcile = defineReconcile(sources, {
 *   code: githubDeliveries({ hook: 'orgs/acme/hooks/1', token: 'GITHUB_TOKEN' }),
 * });
 */
export function githubDeliveries({ hook, token, api = 'https://api.github.com' }: Options): ListedDeliveries {
  // https://docs.github.com/en/rest/repos/webhooks#list-deliveries-for-a-repository-webhook
  const deliveriesUrl = `${api}/${hook}/deliveries`;
  const call = async (url: string, method: string, { fetch, env, signal, now }: ReconcileTools) => {
    const headers = {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${settingOf(env, token) ?? ''}`,
      // GitHub refuses requests without a user agent.
      'user-agent': 'claimcheck',
      'x-github-api-version': '2022-11-28',
    };
    const response = await fetch(url, { method, headers, signal, redirect: 'manual' });
    const error = errorOf(response, now);
    if (error) throw error;
    return response;
  };
  return {
    key: token,
    about: deliveriesUrl,
    async deliveries({ page = `${deliveriesUrl}?per_page=100`, ...tools }) {
      const response = await call(page, 'GET', tools);
      // Never send the token to another host.
      const next = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
      if (next && URL.parse(next)?.origin !== URL.parse(api)?.origin) throw unusable();
      // `parseJson` keeps ids that are too long for JavaScript's integers.
      const parsed = parseJson(await response.text());
      if (parsed.outcome !== 'parsed' || !Array.isArray(parsed.json)) throw unusable();
      return { deliveries: parsed.json.map(deliveryOf), next };
    },
    async redeliver(id, tools) {
      const response = await call(`${deliveriesUrl}/${encodeURIComponent(id)}/attempts`, 'POST', tools);
      await response.body?.cancel();
    },
  };
}

function deliveryOf(item: unknown) {
  const { id, guid, delivered_at: at, redelivery } = (item ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof guid !== 'string' || typeof at !== 'string') throw unusable();
  return { id: String(id), eventId: guid, at: new Date(at), isAgain: redelivery === true };
}

const unusable = () => new ReconcileError("GitHub's answer is not a list of deliveries");

/** https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api */
function errorOf(response: Response, now: Date): Error | undefined {
  const { status, headers } = response;
  const resetAt = Number(headers.get('x-ratelimit-reset')) * 1000;
  const isUsedUp = (status === 403 || status === 429) && headers.get('x-ratelimit-remaining') === '0';
  if (!isUsedUp || !(resetAt > now.getTime())) return errorFromResponse(response, now);
  return withFailure(new RetryLater((resetAt - now.getTime()) / 1000, `GitHub answered ${status}`), 'response');
}
