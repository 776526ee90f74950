import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { LOOPBACK, listen } from '../../cli/lib/port.ts';
import { type Deployed, Workerd } from './workerd.ts';

// Cloudflare's API on loopback, as far as wrangler and our scripts ask it, and what was deployed in workerd. What it
// doesn't know it answers with 501, and keeps in `unknown`. Not from a live account: the answers are what wrangler's
// source reads of them.

const SUBDOMAIN = 'stand-in';
const ACCOUNT = 'account-of-the-stand-in';
const FREE_RETENTION_S = 86_400;

export interface Fault {
  /** 0 closes the connection without an answer, as a network does. */
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
  readonly created: string;
  readonly metadata: Metadata;
  /** By name: the files of the upload with their content type. */
  readonly modules: ReadonlyMap<string, { readonly type: string; readonly text: string }>;
}

interface Deployment {
  readonly id: string;
  readonly created_on: string;
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
  plan: 'paid' | 'free' = 'paid';
  /** Every request, for example `POST /queues`: paths begin behind the account. */
  readonly calls: string[] = [];
  /** What it could not answer. A test fails if there is any. */
  readonly unknown: string[] = [];
  /** Called with every request before it is done. The fault that it returns is the answer. */
  fault: ((call: string) => Fault | undefined | Promise<Fault | undefined>) | undefined;
  private readonly workerd: Workerd;
  private readonly server = createServer((request, response) => {
    void this.answer(request).then(
      ({ status, headers, body }) => response.writeHead(status, headers).end(body),
      (error) => (error === HANG_UP ? request.destroy() : response.writeHead(500).end(String(error?.stack))),
    );
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
      CLOUDFLARE_API_TOKEN: 'token-of-the-stand-in',
      CLOUDFLARE_ACCOUNT_ID: ACCOUNT,
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

  private async answer(incoming: IncomingMessage): Promise<Answer> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const { method = 'GET', url = '/', headers } = incoming;
    const { 'x-edge-host': host, host: _host, connection: _connection, ...others } = headers;
    const request = new Request(new URL(url, `https://${host ?? 'api'}`), {
      method,
      headers: others as Record<string, string>,
      ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}),
    });
    if (typeof host === 'string') return this.visit(host, request);

    const { pathname, searchParams } = new URL(request.url);
    const path = decodeURIComponent(pathname.replace(/^\/client\/v4/, '')).replace(`/accounts/${ACCOUNT}/`, '/');
    const call = `${method} ${path}`;
    this.calls.push(call);
    try {
      const fault = await this.fault?.(call);
      if (fault?.status === 0) throw HANG_UP;
      if (fault) throw new Refusal(fault.status, fault.code ?? 10013, fault.message ?? 'a fault of the test');
      if (!headers.authorization?.startsWith('Bearer ')) throw new Refusal(401, 10000, 'Authentication error');
      const result = await this.route(request, path, searchParams);
      return asJson(200, { success: true, errors: [], messages: [], result });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { status, code, message } = error;
      return asJson(status, { success: false, errors: [{ code, message }], messages: [], result: null });
    }
  }

  private async route(request: Request, path: string, search: URLSearchParams): Promise<unknown> {
    const { method } = request;
    const [, room = '', ...rest] = path.split('/');
    switch (room) {
      case 'accounts':
        if (rest.length > 0) break;
        return [
          { id: 'another', name: 'another account' },
          { id: ACCOUNT, name: 'the account' },
        ];
      case 'queues':
        return this.routeQueue(request, rest, search);
      case 'workers': {
        const [kind, name = '', ...more] = rest;
        if (kind === 'subdomain') return { subdomain: SUBDOMAIN };
        if (kind === 'services' && method === 'GET') return this.service(name);
        if (kind === 'scripts' && name) return this.routeScript(request, name, more);
        break;
      }
    }
    return this.refuse(method, path);
  }

  private refuse(method: string, path: string): never {
    this.unknown.push(`${method} ${path}`);
    throw new Refusal(501, 501, `the stand-in of Cloudflare does not know ${method} ${path}`);
  }

  private async routeQueue(request: Request, [id, part, consumerId]: string[], search: URLSearchParams) {
    const { method } = request;
    if (id === undefined) {
      const names = search.getAll('name');
      if (method === 'GET') {
        return this.queues.filter(({ queue_name }) => names.length === 0 || names.includes(queue_name)).map(asListed);
      }
      const { queue_name, settings } = await bodyOf<Queue>(request);
      if (this.queues.some((queue) => queue.queue_name === queue_name)) {
        throw new Refusal(409, 11009, `Queue name '${queue_name}' is already taken. Please use a different name`);
      }
      const queue: Queue = { queue_id: randomUUID(), queue_name, settings: this.settings(settings), consumers: [] };
      this.queues.push(queue);
      return asListed(queue);
    }
    const queue = this.queues.find(({ queue_id }) => queue_id === id);
    if (!queue) throw new Refusal(404, 11000, 'Queue not found');
    if (part !== 'consumers' || !/POST|PUT/.test(method)) return this.refuse(method, `/queues/${id}/${part}`);
    if (method === 'POST' && queue.consumers.length > 0) {
      throw new Refusal(409, 11004, `Queue already has a consumer`);
    }
    const { script_name: script, ...wanted } = await bodyOf<Consumer & { script_name: string }>(request);
    const consumer = { ...wanted, script, consumer_id: consumerId ?? randomUUID() };
    if (!this.scripts.has(consumer.script)) throw missingWorker();
    queue.consumers = [consumer];
    return consumer;
  }

  private settings(wanted: Partial<Queue['settings']> | undefined): Queue['settings'] {
    const period = wanted?.message_retention_period ?? (this.plan === 'free' ? FREE_RETENTION_S : 345_600);
    if (this.plan === 'free' && period !== FREE_RETENTION_S) {
      throw new Refusal(400, 100128, 'message_retention_period is fixed to 86400 on the Free plan');
    }
    return { ...wanted, message_retention_period: period };
  }

  private service(name: string): unknown {
    const script = this.script(name);
    return {
      id: name,
      default_environment: {
        environment: 'production',
        script: { id: name, tag: name, tags: script.tags, last_deployed_from: 'wrangler' },
      },
    };
  }

  private script(name: string): Script {
    const script = this.scripts.get(name);
    if (!script) throw missingWorker();
    return script;
  }

  private async routeScript(request: Request, name: string, [part = '', id]: string[]): Promise<unknown> {
    const { method } = request;
    switch (`${method} ${part}${id === undefined ? '' : '/'}`) {
      case 'PUT ': {
        const version = await this.upload(name, request);
        this.deploy(name, [{ version_id: version.id, percentage: 100 }]);
        return { id: name, deployment_id: version.id, etag: version.id, startup_time_ms: 1 };
      }
      case 'POST versions':
        this.script(name);
        return { ...asVersion(await this.upload(name, request)), startup_time_ms: 1 };
      case 'GET deployments':
        return { deployments: this.script(name).deployments };
      case 'POST deployments': {
        return this.deploy(name, (await bodyOf<Deployment>(request)).versions);
      }
      case 'GET secrets':
        return this.deployedBindings(name).filter(isSecret).map(withoutSecret);
      case 'PATCH secrets-bulk':
        this.changeSecrets(name, (await bodyOf<{ secrets: Record<string, Binding | null> }>(request)).secrets);
        return {};
      case 'GET settings':
        return { bindings: this.deployedBindings(name).map(withoutSecret) };
      case 'PATCH script-settings':
        this.script(name).tags = (await bodyOf<{ tags?: string[] }>(request)).tags ?? this.script(name).tags;
        return {};
      case 'GET subdomain':
        return this.script(name).subdomain;
      case 'POST subdomain':
        this.script(name).subdomain = await bodyOf(request);
        return this.script(name).subdomain;
      case 'PUT schedules':
        this.script(name).schedules = await bodyOf(request);
        return {};
      default:
        return this.refuse(method, `/workers/scripts/${name}/${part}`);
    }
  }

  private deployedBindings(name: string): readonly Binding[] {
    this.script(name);
    return this.deployed(name)?.metadata.bindings ?? [];
  }

  /** A secret that the upload doesn't name is kept, as Cloudflare does. A binding that it inherits must be there. */
  private async upload(name: string, request: Request): Promise<Version> {
    const form = await request.formData();
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
    const added = { ...version, id: randomUUID(), created: new Date().toISOString() };
    script.versions.unshift(added);
    return added;
  }

  private deploy(name: string, versions: Deployment['versions']): Deployment {
    const deployment = { id: randomUUID(), created_on: new Date().toISOString(), versions };
    this.script(name).deployments.unshift(deployment);
    return deployment;
  }

  /** A changed secret is a new version, which is deployed at once. */
  private changeSecrets(name: string, changes: Readonly<Record<string, Binding | null>>): void {
    const now = this.script(name).versions[0];
    if (!now) throw missingWorker();
    const bindings = now.metadata.bindings.filter((one) => !(one.name in changes));
    for (const change of Object.values(changes)) if (change) bindings.push(change);
    const metadata = { ...now.metadata, bindings, annotations: { 'workers/triggered_by': 'secret' } };
    const { id } = this.add(name, { metadata, modules: now.modules });
    this.deploy(name, [{ version_id: id, percentage: 100 }]);
  }

  /** A request of the public to `<name>.<subdomain>.workers.dev`. */
  private async visit(host: string, request: Request): Promise<Answer> {
    const [name = '', subdomain] = host.split('.');
    const isPublic = subdomain === SUBDOMAIN && this.scripts.get(name)?.subdomain.enabled;
    if (!isPublic) return { status: 404, headers: {}, body: Buffer.from('There is nothing here yet') };
    const worker = await this.workerd.worker(name, this.all());
    const response = await worker.fetch(request.url, {
      method: request.method,
      headers: Object.fromEntries(request.headers),
      redirect: 'manual',
      ...(request.body ? { body: await request.arrayBuffer() } : {}),
    });
    const { 'content-encoding': _encoding, ...others } = Object.fromEntries(response.headers);
    return { status: response.status, headers: others, body: Buffer.from(await response.arrayBuffer()) };
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

const HANG_UP = new Error('hang up');

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

function asJson(status: number, json: unknown): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(json)) };
}

const bodyOf = async <Body>(request: Request) => (await request.json()) as Body;

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

function asVersion({ id, created, metadata: { annotations = {}, bindings } }: Version) {
  const resources = { bindings: bindings.map(withoutSecret), script: { etag: id }, script_runtime: {} };
  return { id, metadata: { created_on: created }, annotations, resources };
}
