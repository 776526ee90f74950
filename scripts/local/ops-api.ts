import { userInfo } from 'node:os';
import type { GenericSchema, InferOutput } from 'valibot';
import * as v from 'valibot';
import { isLocal, readDevVars } from './dev-vars.ts';
import { Problem } from './ops-answers.ts';
import { printable } from './ops-print.ts';
import { runningPort } from './running.ts';
import { UserError } from './user-error.ts';

/** What a script can tell apart by the exit code of `npm run ops`. 0 is success, 1 any other error. */
export const [WRONG_USAGE, NOTHING_MATCHED] = [2, 3];

/** A bulk change of many thousand events also sends their tickets, and takes its time. */
const TIMEOUT_MS = 60_000;

/** No answer, or one that says that the receiver can't answer now: trying again may help. */
export class Unavailable extends UserError {}

/** 404: either the receiver has no console, or there is no such event. */
export class NotFound extends UserError {}

export interface OpsApi {
  readonly get: <Schema extends GenericSchema>(path: string, schema: Schema) => Promise<InferOutput<Schema>>;
  readonly post: <Schema extends GenericSchema>(
    path: string,
    body: object,
    schema: Schema,
  ) => Promise<InferOutput<Schema>>;
}

/** The API of the receiver at `--url`, or of the `npm run dev` of this checkout. */
export function connect(urlOption: string | undefined): OpsApi {
  const url = receiverUrl(urlOption);
  const local = isLocal(url);
  // The token in .dev.vars is that of the local receiver. No other gets it.
  const token = process.env.OPS_TOKEN || (local ? readDevVars().OPS_TOKEN : undefined);
  const headers = headersWith(token);
  if (!local && url.protocol !== 'https:')
    throw new UserError('--url is not https, so everybody on the way could read the token', WRONG_USAGE);

  const call = async <Schema extends GenericSchema>(path: string, schema: Schema, init: RequestInit) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const options: RequestInit = { redirect: 'manual', signal, ...init, headers: { ...headers, ...init.headers } };
    const response = await fetch(`${url.origin}/ops/api${path}`, options).catch((error: Error) => {
      if (error.name === 'TimeoutError') throw new Unavailable(`${url.origin} did not answer within a minute`);
      throw new Unavailable(
        local
          ? `no receiver answers at ${url.origin}: start it with npm run dev, or name another with --url`
          : `no receiver answers at ${url.origin}: check --url`,
      );
    });
    const json: unknown = await response.json().catch(() => undefined);
    if (!response.ok) throw errorOf(response, json, url.origin, token);
    const answer = v.safeParse(schema, json);
    if (answer.success) return answer.output;
    throw new UserError(
      `${url.origin} answers in a form that this version does not know: check --url, and run the version that is deployed there`,
    );
  };
  return {
    get: (path, schema) => call(path, schema, {}),
    post: (path, body, schema) =>
      call(path, schema, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  };
}

function receiverUrl(option: string | undefined): URL {
  const url = URL.parse(option ?? `http://localhost:${process.env.PORT ?? runningPort() ?? 8787}`);
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new UserError('--url takes an address such as https://hooks.example.com', WRONG_USAGE);
}

function headersWith(token: string | undefined): Record<string, string> {
  const { CF_ACCESS_CLIENT_ID: id, CF_ACCESS_CLIENT_SECRET: secret } = process.env;
  return {
    accept: 'application/json',
    // Who did it, for the event's actions. A header takes only ASCII for sure.
    'x-ops-actor': userInfo().username.replaceAll(/[^\x20-\x7e]/g, '?'),
    ...(token ? { authorization: `Bearer ${token}` } : {}),
    // A service token of Cloudflare Access.
    ...(id && secret ? { 'cf-access-client-id': id, 'cf-access-client-secret': secret } : {}),
  };
}

function errorOf(response: Response, json: unknown, origin: string, token: string | undefined): UserError {
  const { status, headers } = response;
  const problem = v.safeParse(Problem, json);
  const words = problem.success
    ? printable([problem.output.title, problem.output.detail].filter(Boolean).join('. '))
    : `it answered ${status}`;
  if (status >= 300 && status < 400) {
    return new UserError(
      `${origin} redirects: check --url. If Cloudflare Access protects it, set CF_ACCESS_CLIENT_ID and CF_ACCESS_CLIENT_SECRET`,
    );
  }
  switch (status) {
    case 400:
      return new UserError(words, WRONG_USAGE);
    case 401:
      return new UserError(
        token
          ? `${origin} refuses this token: set OPS_TOKEN in the environment to the value of its secret OPS_TOKEN`
          : `${origin} asks for a token: set OPS_TOKEN in the environment`,
      );
    case 404:
      return new NotFound(
        `${origin} has no console: set its secret with npx wrangler secret put OPS_TOKEN -c wrangler.toml (32 characters or more), or check --url`,
      );
    case 409:
      return new UserError(`${words}. Run the command again to see the new number`);
    case 429:
      return new Unavailable(
        `${origin} takes no more requests now: try again in ${headers.get('retry-after') ?? '60'} s`,
      );
    default:
      return status >= 500 ? new Unavailable(`${origin}: ${words}`) : new UserError(`${origin}: ${words}`);
  }
}
