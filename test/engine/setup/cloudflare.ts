import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { LOOPBACK, listen } from '../../../scripts/lib/port.ts';
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
  readonly placement?: object;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Version {
  readonly id: string;
  readonly number: number;
  readonly created: string;
  readonly source: string;
  readonly metadata: Metadata;
  /** By name: the files of the upload with their content type. */
  readonly modules: ReadonlyMap<string, { readonly type: string; readonly text: string }>;
}

interface Deployment {
  readonly id: string;
  readonly created_on: string;
  readonly source: string;
  readonly author_email: string;
  readonly strategy: 'percentage';
  readonly versions: readonly { readonly version_id: string; readonly percentage: number }[];
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Script {
  /** The newest first. */
  readonly versions: Version[];
  readonly deployments: Deployment[];
  tags: string[];
  subdomain: { enabled: boolean; previews_enabled: boolean };
  schedules: { cron: string }[];
}

interface Settings {
  batch_size?: number;
  max_wait_time_ms?: number;
  max_retries?: number;
  retry_delay?: number;
}

export interface Queue {
  readonly queue_id: string;
  readonly queue_name: string;
  settings: { message_retention_period: number; delivery_paused?: boolean };
  consumers: {
    readonly consumer_id: string;
    readonly type: string;
    script: string;
    dead_letter_queue?: string;
    settings: Settings;
  }[];
}

type Permission = 'Workers Scripts' | 'Queues';
type Json = Record<string, unknown>;

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
  /** What the token may do. */
  permissions: readonly Permission[] = ['Workers Scripts', 'Queues'];
  subdomain: string | undefined = SUBDOMAIN;
  /** Every request, for example `POST /queues`: paths begin behind the account. */
  readonly calls: string[] = [];
  /** What it could not answer. A test fails if there is any. */
  readonly unknown: string[] = [];
  /** Called with every request before it is done. The fault that it returns is the answer. */
  fault: ((call: string) => Fault | undefined | Promise<Fault | undefined>) | undefined;
  /** Answers what commands ask Neon's API. */
  neonApi: (method: string, path: string, body: unknown) => { status: number; json: unknown } = () => ({
    status: 401,
    json: { message: 'authentication failed' },
  });
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

  /** The version that runs. Of a gradual deployment, the one with the largest share. */
  deployed(name: string): Version | undefined {
    const script = this.scripts.get(name);
    const [largest] = [...(script?.deployments[0]?.versions ?? [])].sort((a, b) => b.percentage - a.percentage);
    return script?.versions.find(({ id }) => id === largest?.version_id);
  }

  private async answer(request: IncomingMessage): Promise<Answer> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const { method = 'GET', url = '/', headers } = request;
    const host = headers['x-edge-host'];
    if (host === 'console.neon.tech') {
      const { status, json } = this.neonApi(method, url, body.length > 0 ? JSON.parse(body.toString()) : undefined);
      return asJson(status, json);
    }
    if (typeof host === 'string') return this.visit(host, url, request, body);

    const { pathname, searchParams } = new URL(url, 'http://api');
    const path = decodeURIComponent(pathname.replace(/^\/client\/v4/, '')).replace(/^\/accounts\/[^/]+(?=\/)/, '');
    const call = `${method} ${path}`;
    this.calls.push(call);
    try {
      const fault = await this.fault?.(call);
      if (fault?.status === 0) throw HANG_UP;
      if (fault) throw new Refusal(fault.status, fault.code ?? 10013, fault.message ?? 'a fault of the test');
      if (!headers.authorization?.startsWith('Bearer ')) throw new Refusal(401, 10000, 'Authentication error');
      const result = await this.route(method, path, searchParams, headers['content-type'] ?? '', body);
      const info = { page: 1, per_page: 100, count: 1, total_count: 1 };
      const json = { success: true, errors: [], messages: [], result, result_info: info };
      return asJson(200, json);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { status, code, message } = error;
      const json = { success: false, errors: [{ code, message }], messages: [], result: null };
      return asJson(status, json);
    }
  }

  private async route(
    method: string,
    path: string,
    search: URLSearchParams,
    type: string,
    body: Buffer,
  ): Promise<unknown> {
    const json = () => JSON.parse(body.toString() || '{}');
    const [, room = '', ...rest] = path.split('/');
    switch (room) {
      case 'queues':
        this.assertMay('Queues');
        return this.routeQueue(method, rest, search, json);
      case 'workers': {
        this.assertMay('Workers Scripts');
        const [kind, name = '', ...more] = rest;
        if (kind === 'subdomain') return this.routeSubdomain(method, json);
        if (kind === 'services' && method === 'GET') return this.service(name);
        if (kind === 'scripts' && name) return this.routeScript(method, name, more, search, type, body, json);
        break;
      }
    }
    return this.refuse(method, path);
  }

  private refuse(method: string, path: string): never {
    this.unknown.push(`${method} ${path}`);
    throw new Refusal(501, 501, `the stand-in of Cloudflare does not know ${method} ${path}`);
  }

  private assertMay(permission: Permission): void {
    if (!this.permissions.includes(permission)) throw new Refusal(403, 10000, 'Authentication error');
  }

  private routeSubdomain(method: string, json: () => { subdomain: string }): unknown {
    if (method === 'PUT') this.subdomain = json().subdomain;
    if (this.subdomain === undefined) throw new Refusal(404, 10007, 'You have not registered a workers.dev subdomain');
    return { subdomain: this.subdomain };
  }

  private routeQueue(method: string, [id, part, consumerId]: string[], search: URLSearchParams, json: () => Json) {
    if (id === undefined) {
      const names = search.getAll('name');
      if (method === 'GET') {
        return this.queues.filter(({ queue_name }) => names.length === 0 || names.includes(queue_name)).map(asListed);
      }
      const { queue_name, settings } = json() as unknown as Queue;
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
    const { script_name, type, dead_letter_queue, settings } = json();
    const consumer = {
      consumer_id: consumerId ?? randomUUID(),
      type: String(type),
      script: String(script_name),
      settings: (settings ?? {}) as Settings,
      ...(dead_letter_queue ? { dead_letter_queue: String(dead_letter_queue) } : {}),
    };
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

  private async routeScript(
    method: string,
    name: string,
    [part, id]: string[],
    search: URLSearchParams,
    type: string,
    body: Buffer,
    json: () => Json,
  ): Promise<unknown> {
    const { annotations } = part === 'deployments' && method === 'POST' ? json() : {};
    switch (`${method} ${part ?? ''}${id === undefined ? '' : '/'}`) {
      case 'PUT ': {
        const version = await this.upload(name, type, body);
        this.deploy(name, [{ version_id: version.id, percentage: 100 }]);
        return { id: name, deployment_id: version.id, etag: version.id, startup_time_ms: 1 };
      }
      case 'POST versions': {
        this.script(name);
        const version = await this.upload(name, type, body);
        return { ...asVersion(version), startup_time_ms: 1 };
      }
      case 'GET versions':
        return { items: this.script(name).versions.map(asVersion) };
      case 'GET deployments':
        return { deployments: this.script(name).deployments };
      case 'POST deployments': {
        const versions = json().versions as Deployment['versions'];
        const [newest, ...older] = this.script(name).versions;
        // A new upload keeps the secrets, or names those that change. An older version may have others.
        const wanted = older.find((one) => one.id === versions[0]?.version_id) ?? newest;
        const changed = changedSecrets(wanted, this.deployed(name));
        if (wanted !== newest && changed.length > 0 && !search.has('force')) {
          throw new Refusal(400, 10220, `The following secrets have changed: ${changed.join(', ')}`);
        }
        return this.deploy(name, versions, annotations as Record<string, string>);
      }
      case 'GET secrets':
        return this.deployedBindings(name)
          .filter(isSecret)
          .map(({ name, type }) => ({ name, type }));
      case 'PATCH secrets-bulk':
        this.changeSecrets(name, json().secrets as Record<string, Binding | null>);
        return {};
      case 'GET settings':
        return { bindings: this.deployedBindings(name).map(withoutSecret) };
      case 'PATCH script-settings':
        this.script(name).tags = (json().tags as string[]) ?? this.script(name).tags;
        return {};
      case 'GET subdomain':
        return this.script(name).subdomain;
      case 'POST subdomain':
        this.script(name).subdomain = json() as Script['subdomain'];
        return this.script(name).subdomain;
      case 'GET schedules':
        return { schedules: this.script(name).schedules };
      case 'PUT schedules':
        this.script(name).schedules = json() as unknown as Script['schedules'];
        return {};
      default:
        return this.refuse(method, `/workers/scripts/${name}/${part ?? ''}`);
    }
  }

  private deployedBindings(name: string): readonly Binding[] {
    this.script(name);
    return this.deployed(name)?.metadata.bindings ?? [];
  }

  /** A secret that the upload doesn't name is kept, as Cloudflare does. A binding that it inherits must be there. */
  private async upload(name: string, type: string, body: Buffer): Promise<Version> {
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
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
    return this.add(name, { metadata: { ...metadata, bindings: [...bindings, ...kept] }, modules, source: 'wrangler' });
  }

  private add(name: string, version: Pick<Version, 'metadata' | 'modules' | 'source'>): Version {
    const script = this.scripts.get(name) ?? {
      versions: [],
      deployments: [],
      tags: [],
      subdomain: { enabled: false, previews_enabled: false },
      schedules: [],
    };
    this.scripts.set(name, script);
    const added = {
      ...version,
      id: randomUUID(),
      number: script.versions.length + 1,
      created: new Date().toISOString(),
    };
    script.versions.unshift(added);
    return added;
  }

  private deploy(name: string, versions: Deployment['versions'], annotations = {}): Deployment {
    const created_on = new Date().toISOString();
    const deployment: Deployment = {
      id: randomUUID(),
      created_on,
      source: 'wrangler',
      author_email: 'you@example.com',
      strategy: 'percentage',
      versions,
      annotations: { 'workers/triggered_by': 'deployment', ...annotations },
    };
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
    const { id } = this.add(name, { metadata, modules: now.modules, source: 'wrangler' });
    this.deploy(name, [{ version_id: id, percentage: 100 }]);
  }

  /** A request of the public to `<name>.<subdomain>.workers.dev`. */
  private async visit(host: string, url: string, request: IncomingMessage, body: Buffer): Promise<Answer> {
    const [name = '', subdomain] = host.split('.');
    const isPublic = subdomain === this.subdomain && this.scripts.get(name)?.subdomain.enabled;
    if (!isPublic) return { status: 404, headers: {}, body: Buffer.from('There is nothing here yet') };
    const { 'x-edge-host': _edge, host: _host, connection: _connection, ...headers } = request.headers;
    const worker = await this.workerd.worker(name, this.all());
    const response = await worker.fetch(`https://${host}${url}`, {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      redirect: 'manual',
      ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
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

const isSecret = ({ type }: Binding) => type === 'secret_text';
const isValue = ({ type }: Binding) => type === 'secret_text' || type === 'plain_text' || type === 'json';

function changedSecrets(one: Version | undefined, other: Version | undefined): string[] {
  const texts = [one, other].map((version) =>
    Object.fromEntries((version?.metadata.bindings ?? []).filter(isSecret).map(({ name, text }) => [name, text])),
  );
  const names = new Set(texts.flatMap((all) => Object.keys(all)));
  return [...names].filter((name) => texts[0]?.[name] !== texts[1]?.[name]);
}

const withoutSecret = (one: Binding) => (isSecret(one) ? { name: one.name, type: one.type } : one);

function asListed(queue: Queue) {
  return { ...queue, consumers_total_count: queue.consumers.length, producers: [], producers_total_count: 0 };
}

function asVersion({ id, number, created, source, metadata }: Version) {
  const { bindings, annotations, compatibility_date } = metadata;
  return {
    id,
    number,
    metadata: { created_on: created, modified_on: created, author_email: 'you@example.com', source },
    annotations: annotations ?? {},
    resources: {
      bindings: bindings.map(withoutSecret),
      script: { etag: id, handlers: ['fetch'], last_deployed_from: 'wrangler' },
      script_runtime: { compatibility_date, compatibility_flags: [], usage_model: 'standard' },
    },
  };
}
