import { userInfo } from 'node:os';
import * as v from 'valibot';
import { isLocal, readDevVars } from '../config/dev-vars.ts';
import { localAddress, remedyAt } from '../lib/processes.ts';
import { UserError } from '../lib/user-error.ts';
import { printable } from './print.ts';

/** What a script can tell apart by the exit code of `npm run ops`. 0 is success, 1 any other error. */
export const WRONG_USAGE = 2;
export const NOTHING_MATCHED = 3;

/** Problem details, RFC 9457. */
const Problem = v.object({ title: v.string(), detail: v.optional(v.string()) });

/** The most that the API returns at a time. */
export const MAX_PAGE = 500;

/** A bulk action on many thousand events also sends their tickets, and takes its time. */
const TIMEOUT_MS = 60_000;

export interface OpsApi {
  readonly get: <Schema extends v.GenericSchema>(path: string, schema: Schema) => Promise<v.InferOutput<Schema>>;
  readonly post: Change;
  readonly put: Change;
  readonly delete: <Schema extends v.GenericSchema>(path: string, schema: Schema) => Promise<v.InferOutput<Schema>>;
}

type Change = <Schema extends v.GenericSchema>(
  path: string,
  body: object,
  schema: Schema,
) => Promise<v.InferOutput<Schema>>;

/** The API of the ops Worker at `--url`, or of the `npm run dev` of this checkout. */
export function connect(urlOption: string | undefined): OpsApi {
  const url = opsUrl(urlOption);
  const { origin } = url;
  const local = isLocal(url);
  if (!local && url.protocol !== 'https:')
    throw new UserError('--url is not https, so everybody on the way could read the token', WRONG_USAGE);
  // The token in .dev.vars is that of the local ops Worker. No other gets it.
  const token = process.env.OPS_TOKEN || (local ? readDevVars().OPS_TOKEN : undefined);
  const headers = {
    accept: 'application/json',
    // Who did it, for the event's actions. Only ASCII is safe in a header.
    'x-ops-actor': userInfo().username.replaceAll(/[^\x20-\x7e]/g, '?'),
    ...(token ? { authorization: `Bearer ${token}` } : {}),
    ...serviceToken(),
  };

  const call = async <Schema extends v.GenericSchema>(path: string, schema: Schema, init: RequestInit) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const options: RequestInit = { redirect: 'manual', signal, ...init, headers: { ...headers, ...init.headers } };
    const response = await fetch(`${origin}/ops/api${path}`, options).catch((error: Error) => {
      if (error.name === 'TimeoutError') throw new UserError(`${origin} did not answer within a minute`);
      const remedy = local ? `${remedyAt(origin)}, or name another with --url` : 'check --url';
      throw new UserError(`no ops Worker answers at ${origin}: ${remedy}`);
    });
    const json: unknown = await response.json().catch(() => undefined);
    if (!response.ok) throw errorOf(response, json, origin, token);
    const { success, issues } = v.safeParse(schema, json);
    // A newer version may have added fields. They are left as they are.
    if (success || issues.every(({ expected }) => expected === 'never')) return json as v.InferOutput<Schema>;
    throw new UserError(
      `${origin} answers in a form that this version does not know: check --url, and run the version that is deployed there`,
    );
  };
  const change =
    (method: string): Change =>
    (path, body, schema) =>
      call(path, schema, {
        method,
        // Cloudflare Access lets browsers in, too, so a change must come from the same origin.
        headers: { 'content-type': 'application/json', origin },
        body: JSON.stringify(body),
      });
  return {
    get: (path, schema) => call(path, schema, {}),
    post: change('POST'),
    put: change('PUT'),
    delete: (path, schema) => change('DELETE')(path, {}, schema),
  };
}

function opsUrl(option: string | undefined): URL {
  const url = URL.parse(option ?? localAddress());
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new UserError('--url takes an address such as https://ops.example.com', WRONG_USAGE);
}

/** What Cloudflare Access takes from programs in place of a sign-in. */
function serviceToken(): Record<string, string> {
  const { CF_ACCESS_CLIENT_ID: id, CF_ACCESS_CLIENT_SECRET: secret } = process.env;
  if (!id && !secret) return {};
  if (id && secret) return { 'cf-access-client-id': id, 'cf-access-client-secret': secret };
  throw new UserError(
    'a service token has two parts: set CF_ACCESS_CLIENT_ID and CF_ACCESS_CLIENT_SECRET',
    WRONG_USAGE,
  );
}

function errorOf({ status }: Response, json: unknown, origin: string, token: string | undefined): UserError {
  const problem = v.safeParse(Problem, json);
  const { title, detail } = problem.success ? problem.output : { title: `it answered ${status}` };
  const words = printable([title, detail].filter(Boolean).join('. '));
  const credentials = 'CF_ACCESS_CLIENT_ID and CF_ACCESS_CLIENT_SECRET';
  if (status >= 300 && status < 400) {
    return new UserError(`${origin} redirects: check --url. If Cloudflare Access protects it, set ${credentials}`);
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
      if (title === NO_SUCH_EVENT) return new UserError('there is no such event', NOTHING_MATCHED);
      if (title === NO_SUCH_TENANT) return new UserError(words, NOTHING_MATCHED);
      return new UserError(`${origin} is not an ops Worker: check --url. It has an address of its own`);
    case 409:
      return new UserError(title === NOTHING_CHANGED ? `${words}. Run the command again to see them` : words);
    default:
      // The 403 of Cloudflare Access is a page, and not problem details.
      if (status !== 403 || problem.success) return new UserError(`${origin}: ${words}`);
      return new UserError(`${origin} refuses this service token: check ${credentials} and the policies of Access`);
  }
}

/** The titles of the API's answers. Other Workers answer 404 too. */
const NO_SUCH_EVENT = 'There is no such event';
const NO_SUCH_TENANT = 'There is no such tenant';
/** Other events match than expected. */
const NOTHING_CHANGED = 'Nothing was changed';

export function pathOf(source: string, eventId: string): string {
  return `/events/${encodeURIComponent(source)}/${encodeURIComponent(eventId)}`;
}
