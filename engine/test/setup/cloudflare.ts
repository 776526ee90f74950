import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Hono } from 'hono';
import { LOOPBACK, listen } from '../../cli/lib/port.ts';
import { TemporaryAccounts } from './temporary-accounts.ts';
import { type Deployed, Workerd } from './workerd.ts';

// Cloudflare's API on loopback, as far as wrangler and our scripts ask it, and what was deployed in workerd. What it
// doesn't know it answers with 501, and keeps in `unknown`. Not from a live account: the answers are what wrangler's
// source reads of them.

const SUBDOMAIN = 'stand-in';
/** What somebody has an account and a token of. */
const OWN = { id: 'account-of-the-stand-in', token: 'token-of-the-stand-in' };
const FREE_RETENTION_S = 86_400;

export interface Fault {
  readonly status: number;
  readonly code?: number;
  readonly message?: string;
}

interface Binding {
  readonly name: string;
  readonly type: string;
  readonly text?: string;
  readonly json?: unknown;
  readonly queue_name?: string;
}

interface Metadata {
  readonly main_module: string;
  readonly bindings: Binding[];
  readonly compatibility_date: string;
  readonly compatibility_flags?: string[];
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Version {
  readonly id: string;
  readonly metadata: Metadata;
  /** By name: the files of the upload with their content type. */
  readonly modules: ReadonlyMap<string, { readonly type: string; readonly text: string }>;
}

interface Deployment {
  readonly versions: readonly { readonly version_id: string; readonly percentage: number }[];
}

interface Script {
  /** The newest first. */
  readonly versions: Version[];
  readonly deployments: Deployment[];
  tags: string[];
  subdomain: { enabled: boolean; previews_enabled: boolean };
  schedules: { cron: string }[];
}

interface Consumer {
  readonly consumer_id: string;
  readonly type: string;
  readonly script: string;
  readonly dead_letter_queue?: string;
  readonly settings: { readonly max_retries?: number };
}

interface Queue {
  readonly queue_id: string;
  readonly queue_name: string;
  readonly jurisdiction?: string;
  readonly settings: { readonly message_retention_period: number };
  consumers: Consumer[];
}

class Refusal extends Error {
  readonly status: number;
  readonly code: number;
  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const missingWorker = () => new Refusal(404, 10007, 'This Worker does not exist on your account.');

export class Cloudflare {
  readonly scripts = new Map<string, Script>();
  queues: Queue[] = [];
  /** A new account has none. */
  subdomain: string | undefined = SUBDOMAIN;
  /** The only one that there is. A temporary account takes its place. */
  account = OWN;
  plan: 'paid' | 'free' = 'paid';
  /** By host: others that answer, beside the deployed Workers. */
  readonly others = new Map<string, (request: Request) => Promise<Response>>();
  /** Every request, for example `POST /queues`: paths begin behind the account. */
  readonly calls: string[] = [];
  /** What it could not answer. A test fails if there is any. */
  readonly unknown: string[] = [];
  /** Called with every request before it is done. The fault that it returns is the answer. */
  fault: ((call: string) => Fault | undefined | Promise<Fault | undefined>) | undefined;
  private readonly workerd: Workerd;
  private readonly api = this.routes();
  private readonly server = createServer(async (incoming, outgoing) => {
    const response = await this.answer(incoming).catch((error) => new Response(error.stack, { status: 500 }));
    // Node has decoded the body.
    response.headers.delete('content-encoding');
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  });
  private port = 0;

  private constructor(neonPort: number) {
    this.workerd = new Workerd(neonPort);
  }

  /** `neonPort` is that of the local Neon endpoint: every Neon host leads there. */
  static async start(neonPort: number): Promise<Cloudflare> {
    const cloudflare = new Cloudflare(neonPort);
    cloudflare.port = await listen(cloudflare.server, 0);
    return cloudflare;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
    await this.workerd.stop();
  }

  /** What a command needs in its environment: wrangler's own variables, and the hook at the network's edge. */
  get env(): Record<string, string> {
    return {
      CLOUDFLARE_API_BASE_URL: `http://${LOOPBACK}:${this.port}/client/v4`,
      CLOUDFLARE_API_TOKEN: OWN.token,
      CLOUDFLARE_ACCOUNT_ID: OWN.id,
      EDGE_URL: `http://${LOOPBACK}:${this.port}`,
      NODE_OPTIONS: `--import ${new URL('edge.mjs', import.meta.url).href}`,
      // Otherwise wrangler asks the machine's location, and the npm registry for a newer version.
      CLOUDFLARE_CF_FETCH_ENABLED: 'false',
      WRANGLER_SEND_METRICS: 'false',
      WRANGLER_HIDE_BANNER: 'true',
    };
  }

  /** The values of the secrets and variables that the deployed version of a Worker has. */
  valuesOf(name: string): Record<string, unknown> {
    const { bindings = [] } = this.deployed(name)?.metadata ?? {};
    return Object.fromEntries(bindings.filter(isValue).map((one) => [one.name, one.text ?? one.json]));
  }

  /** The version that runs. */
  deployed(name: string): Version | undefined {
    const script = this.scripts.get(name);
    return script?.versions.find(({ id }) => id === script.deployments[0]?.versions[0]?.version_id);
  }

  private async answer(incoming: IncomingMessage): Promise<Response> {
    const { method = 'GET', url = '/', headers } = incoming;
    const { 'x-edge-host': host, host: _host, connection: _connection, ...others } = headers;
    const body = await buffer(incoming);
    const at = (path: string) =>
      new Request(new URL(path, `https://${host ?? 'api'}`), {
        method,
        headers: others as Record<string, string>,
        ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
      });
    if (typeof host === 'string') return this.elsewhere(host, at(url));
    return this.api.fetch(at(url.replace(/^\/client\/v4/, '').replace(`/accounts/${this.account.id}/`, '/')));
  }

  private routes(): Hono {
    const api = new Hono();
    api.onError((error) => {
      if (!(error instanceof Refusal)) return new Response(error.stack, { status: 500 });
      const { status, code, message } = error;
      return Response.json({ success: false, errors: [{ code, message }], messages: [], result: null }, { status });
    });
    api.notFound(({ req }) => {
      this.unknown.push(`${req.method} ${req.path}`);
      return Response.json({ success: false, errors: [], messages: [], result: null }, { status: 501 });
    });
    api.use(async ({ req }, next) => {
      const call = `${req.method} ${req.path}`;
      this.calls.push(call);
      const fault = await this.fault?.(call);
      if (fault) throw new Refusal(fault.status, fault.code ?? 10013, fault.message ?? 'a fault of the test');
      const isForStrangers = req.path.startsWith('/provisioning/');
      if (!isForStrangers && req.header('authorization') !== `Bearer ${this.account.token}`) {
        throw new Refusal(403, 10000, 'Authentication error');
      }
      await next();
    });
    const temporary = new TemporaryAccounts();
    api.post('/provisioning/previews/challenge', () => success(temporary.challenge()));
    api.post('/provisioning/previews', async ({ req }) => {
      const made = temporary.make(await req.json());
      if (!made) throw new Refusal(400, 1017, 'the terms were not accepted, or the proof of work is wrong');
      this.scripts.clear();
      this.queues = [];
      this.account = { id: made.account.id, token: made.account.apiToken };
      return success(made);
    });

    api.get('/accounts', () =>
      success([
        { id: 'another', name: 'another account' },
        { id: this.account.id, name: 'the account' },
      ]),
    );
    api.get('/queues', ({ req }) => {
      const names = req.queries('name');
      return success(this.queues.filter(({ queue_name }) => names?.includes(queue_name) ?? true).map(asListed));
    });
    api.post('/queues', async ({ req }) => {
      const { queue_name, settings, jurisdiction } = await req.json<Queue>();
      if (this.queues.some((queue) => queue.queue_name === queue_name)) {
        throw new Refusal(409, 11009, `Queue name '${queue_name}' is already taken. Please use a different name`);
      }
      const queue: Queue = {
        queue_id: randomUUID(),
        queue_name,
        settings: this.settings(settings),
        consumers: [],
        ...(jurisdiction && { jurisdiction }),
      };
      this.queues.push(queue);
      return success(asListed(queue));
    });
    api.on(['POST', 'PUT'], '/queues/:id/consumers/:consumer?', async ({ req }) => {
      const queue = this.queues.find(({ queue_id }) => queue_id === req.param('id'));
      if (!queue) throw new Refusal(404, 11000, 'Queue not found');
      if (req.method === 'POST' && queue.consumers.length > 0) {
        throw new Refusal(409, 11004, 'Queue already has a consumer');
      }
      const { script_name: script, ...wanted } = await req.json<Consumer & { script_name: string }>();
      this.script(script);
      const consumer = { ...wanted, script, consumer_id: req.param('consumer') ?? randomUUID() };
      queue.consumers = [consumer];
      return success(consumer);
    });

    api.delete('/queues/:id/consumers/:consumer', ({ req }) => {
      for (const queue of this.queues) {
        queue.consumers = queue.consumers.filter(({ consumer_id }) => consumer_id !== req.param('consumer'));
      }
      return success(null);
    });
    api.delete('/queues/:id', ({ req }) => {
      const queue = this.queues.find(({ queue_id }) => queue_id === req.param('id'));
      const isUsed = Array.from(this.scripts.keys(), (name) => this.bindingsOf(name))
        .flat()
        .some(({ queue_name }) => queue_name === queue?.queue_name);
      if (!queue || isUsed) throw new Refusal(400, 11005, 'Queue is used by a Worker');
      this.queues = this.queues.filter((one) => one !== queue);
      return success(null);
    });

    api.get('/workers/subdomain', () => {
      if (this.subdomain === undefined) throw new Refusal(404, 10007, 'There is no workers.dev subdomain');
      return success({ subdomain: this.subdomain });
    });
    api.put('/workers/subdomain', async ({ req }) => {
      const { subdomain } = await req.json<{ subdomain: string }>();
      if (subdomain === 'taken') throw new Refusal(409, 10031, 'The subdomain is taken');
      this.subdomain = subdomain;
      return success({ subdomain });
    });
    api.get('/workers/services/:name', ({ req }) => {
      const name = req.param('name');
      const script = { id: name, tag: name, tags: this.script(name).tags, last_deployed_from: 'wrangler' };
      return success({ id: name, default_environment: { environment: 'production', script } });
    });
    const worker = '/workers/scripts/:name';
    api.put(worker, async ({ req }) => {
      const version = await this.upload(req.param('name'), await req.formData());
      this.deploy(req.param('name'), version);
      return success({ id: req.param('name'), deployment_id: version.id, etag: version.id, startup_time_ms: 1 });
    });
    api.delete(worker, ({ req }) => {
      const name = req.param('name');
      this.script(name);
      const isConsumer = this.queues.some(({ consumers }) => consumers.some(({ script }) => script === name));
      if (isConsumer) throw new Refusal(400, 10064, 'This Worker is the consumer of a queue');
      this.scripts.delete(name);
      return success(null);
    });
    api.post(`${worker}/versions`, async ({ req }) => {
      this.script(req.param('name'));
      const { id } = await this.upload(req.param('name'), await req.formData());
      return success({ id, startup_time_ms: 1, resources: { script: { etag: id }, script_runtime: {} } });
    });
    api.get(`${worker}/deployments`, ({ req }) => {
      return success({ deployments: this.script(req.param('name')).deployments });
    });
    api.post(`${worker}/deployments`, async ({ req }) => {
      const deployment = { ...(await req.json<Deployment>()), id: randomUUID() };
      this.script(req.param('name')).deployments.unshift(deployment);
      return success(deployment);
    });
    api.get(`${worker}/secrets`, ({ req }) => {
      return success(this.bindingsOf(req.param('name')).filter(isSecret).map(withoutSecret));
    });
    api.patch(`${worker}/secrets-bulk`, async ({ req }) => {
      const { secrets } = await req.json<{ secrets: Record<string, Binding | null> }>();
      this.changeSecrets(req.param('name'), secrets);
      return success({});
    });
    api.get(`${worker}/settings`, ({ req }) => {
      return success({ bindings: this.bindingsOf(req.param('name')).map(withoutSecret) });
    });
    api.patch(`${worker}/script-settings`, async ({ req }) => {
      const { tags = [] } = await req.json<{ tags?: string[] }>();
      this.script(req.param('name')).tags = tags;
      return success({});
    });
    api.get(`${worker}/subdomain`, ({ req }) => success(this.script(req.param('name')).subdomain));
    api.post(`${worker}/subdomain`, async ({ req }) => {
      this.script(req.param('name')).subdomain = await req.json();
      return success(this.script(req.param('name')).subdomain);
    });
    api.put(`${worker}/schedules`, async ({ req }) => {
      this.script(req.param('name')).schedules = await req.json();
      return success({});
    });
    return api;
  }

  private settings(wanted: Partial<Queue['settings']> | undefined): Queue['settings'] {
    const period = wanted?.message_retention_period ?? (this.plan === 'free' ? FREE_RETENTION_S : 345_600);
    if (this.plan === 'free' && period !== FREE_RETENTION_S) {
      throw new Refusal(400, 100128, 'message_retention_period is fixed to 86400 on the Free plan');
    }
    return { ...wanted, message_retention_period: period };
  }

  private script(name: string): Script {
    const script = this.scripts.get(name);
    if (!script) throw missingWorker();
    return script;
  }

  private bindingsOf(name: string): readonly Binding[] {
    this.script(name);
    return this.deployed(name)?.metadata.bindings ?? [];
  }

  /** A secret that the upload doesn't name is kept, as Cloudflare does. A binding that it inherits must be there. */
  private async upload(name: string, form: FormData): Promise<Version> {
    const metadata: Metadata = JSON.parse(String(form.get('metadata')));
    const modules = new Map<string, { type: string; text: string }>();
    for (const [key, value] of form) {
      if (typeof value !== 'string') modules.set(value.name || key, { type: value.type, text: await value.text() });
    }
    const before = this.scripts.get(name)?.versions[0]?.metadata.bindings ?? [];
    const bindings = metadata.bindings.map((one) => {
      const binding = one.type === 'inherit' ? before.find(({ name }) => name === one.name) : one;
      if (!binding) throw new Refusal(400, 10057, `inherit binding '${one.name}' is invalid: there is no such binding`);
      if (binding.queue_name === undefined || this.queues.some((queue) => queue.queue_name === binding.queue_name)) {
        return binding;
      }
      throw new Refusal(400, 11000, `Queue ${binding.queue_name} does not exist`);
    });
    const kept = before.filter((one) => isSecret(one) && !bindings.some(({ name }) => name === one.name));
    return this.add(name, { metadata: { ...metadata, bindings: [...bindings, ...kept] }, modules });
  }

  private add(name: string, version: Pick<Version, 'metadata' | 'modules'>): Version {
    const script = this.scripts.get(name) ?? newScript();
    this.scripts.set(name, script);
    const added = { ...version, id: randomUUID() };
    script.versions.unshift(added);
    return added;
  }

  private deploy(name: string, { id }: Version): void {
    this.script(name).deployments.unshift({ versions: [{ version_id: id, percentage: 100 }] });
  }

  /** A changed secret is a new version, which is deployed at once. */
  private changeSecrets(name: string, changes: Readonly<Record<string, Binding | null>>): void {
    const now = this.script(name).versions[0];
    if (!now) throw missingWorker();
    const bindings = now.metadata.bindings.filter((one) => !(one.name in changes));
    for (const change of Object.values(changes)) if (change) bindings.push(change);
    const metadata = { ...now.metadata, bindings, annotations: { 'workers/triggered_by': 'secret' } };
    this.deploy(name, this.add(name, { metadata, modules: now.modules }));
  }

  private async elsewhere(host: string, request: Request): Promise<Response> {
    const other = this.others.get(host);
    if (!other) return this.visit(request);
    const fault = await this.fault?.(`${request.method} ${host}`);
    return fault ? Response.json({ message: fault.message }, { status: fault.status }) : other(request);
  }

  /** A request of the public to `<name>.<subdomain>.workers.dev`. */
  private async visit(request: Request): Promise<Response> {
    const [name = '', subdomain] = new URL(request.url).hostname.split('.');
    const isPublic = subdomain === this.subdomain && this.scripts.get(name)?.subdomain.enabled;
    if (!isPublic) return new Response('There is nothing here yet', { status: 404 });
    const worker = await this.workerd.worker(name, this.all());
    const { method, headers } = request;
    const body = request.body ? { body: await request.arrayBuffer() } : {};
    const answer = await worker.fetch(request.url, {
      method,
      headers: Object.fromEntries(headers),
      redirect: 'manual',
      ...body,
    });
    return new Response(await answer.arrayBuffer(), {
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
    });
  }

  private all(): Deployed[] {
    return Array.from(this.scripts.keys(), (name) => {
      const { metadata, modules } = this.deployed(name) ?? {};
      if (!metadata || !modules) throw missingWorker();
      const produces = metadata.bindings.filter(({ type }) => type === 'queue');
      return {
        name,
        main: metadata.main_module,
        modules: Object.fromEntries(modules),
        date: metadata.compatibility_date,
        flags: metadata.compatibility_flags ?? [],
        values: this.valuesOf(name),
        produces: Object.fromEntries(produces.map((one) => [one.name, one.queue_name ?? ''])),
        consumes: this.queues.flatMap(({ queue_name, consumers }) =>
          consumers
            .filter(({ script }) => script === name)
            .map((one) => ({ queue: queue_name, dead: one.dead_letter_queue, retries: one.settings.max_retries })),
        ),
      };
    });
  }
}

const success = (result: unknown) => Response.json({ success: true, errors: [], messages: [], result });

/** A Worker that nobody has deployed yet. */
export function newScript(): Script {
  const subdomain = { enabled: false, previews_enabled: false };
  return { versions: [], deployments: [], tags: [], subdomain, schedules: [] };
}

const isSecret = ({ type }: Binding) => type === 'secret_text';
const isValue = ({ type }: Binding) => type === 'secret_text' || type === 'plain_text' || type === 'json';

const withoutSecret = (one: Binding) => (isSecret(one) ? { name: one.name, type: one.type } : one);

function asListed(queue: Queue) {
  return { ...queue, consumers_total_count: queue.consumers.length, producers: [], producers_total_count: 0 };
}
