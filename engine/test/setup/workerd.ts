import { createRequire } from 'node:module';
import { LOOPBACK } from '../../cli/lib/port.ts';

/** A deployed Worker, as it is run. */
export interface Deployed {
  readonly name: string;
  readonly main: string;
  readonly modules: Readonly<Record<string, { readonly type: string; readonly text: string }>>;
  readonly date: string;
  readonly flags: readonly string[];
  readonly values: Readonly<Record<string, unknown>>;
  /** The queue of each binding. */
  readonly produces: Readonly<Record<string, string>>;
  readonly consumes: readonly {
    readonly queue: string;
    readonly dead: string | undefined;
    readonly retries: number | undefined;
  }[];
}

interface Fetcher {
  fetch(url: string, init: RequestInit): Promise<Response>;
}

interface Miniflare {
  readonly ready: Promise<URL>;
  setOptions(options: object): Promise<void>;
  getWorker(name: string): Promise<Fetcher>;
  dispose(): Promise<void>;
}

/** Wrangler brings it. */
const miniflare: {
  readonly Miniflare: new (options: object) => Miniflare;
  readonly convertV4MiniflareOptions: (options: object) => object;
  readonly Log: new (level: number) => object;
  readonly Response: typeof Response;
} = createRequire(createRequire(import.meta.url).resolve('wrangler'))('miniflare');

const MODULE_TYPES: Readonly<Record<string, string>> = {
  'application/javascript+module': 'ESModule',
  'text/plain': 'Text',
};

/** All deployed Workers in one workerd, which starts again when a deployment has changed something. */
export class Workerd {
  private readonly neonPort: number;
  private process: Miniflare | undefined;
  private running = '';

  constructor(neonPort: number) {
    this.neonPort = neonPort;
  }

  async worker(name: string, all: readonly Deployed[]): Promise<Fetcher> {
    const wanted = JSON.stringify(all);
    if (wanted !== this.running) {
      const workers = all.map((one) => this.options(one));
      const options = miniflare.convertV4MiniflareOptions({ workers, log: new miniflare.Log(0), cf: false });
      if (this.process) await this.process.setOptions(options);
      else this.process = new miniflare.Miniflare(options);
      this.running = wanted;
    }
    await this.process?.ready;
    if (!this.process) throw new Error('nothing is deployed');
    return this.process.getWorker(name);
  }

  async stop(): Promise<void> {
    await this.process?.dispose();
  }

  private options({ name, main, modules, date, flags, values, produces, consumes }: Deployed): object {
    const files = Object.entries(modules).filter(([, { type }]) => type in MODULE_TYPES);
    // The first is the Worker itself.
    files.sort(([one], [other]) => Number(other === main) - Number(one === main));
    return {
      name,
      modules: files.map(([path, { type, text }]) => ({ type: MODULE_TYPES[type], path, contents: text })),
      compatibilityDate: date,
      compatibilityFlags: flags,
      bindings: values,
      queueProducers: Object.fromEntries(Object.entries(produces).map(([one, queueName]) => [one, { queueName }])),
      queueConsumers: Object.fromEntries(
        consumes.map(({ queue, dead, retries }) => [
          queue,
          // A test need not wait a second for a batch to fill.
          { maxBatchTimeout: 0.02, maxRetries: retries, ...(dead ? { deadLetterQueue: dead } : {}) },
        ]),
      ),
      outboundService: (request: Request) => this.outbound(request),
    };
  }

  /** A Neon host leads to the local endpoint, and no other is reached. */
  private async outbound(request: Request): Promise<Response> {
    const { hostname, pathname } = new URL(request.url);
    if (!/^api\..*\.neon\.tech$/.test(hostname)) return new miniflare.Response('no test calls it', { status: 502 });
    const { status, headers, body } = await fetch(`http://${LOOPBACK}:${this.neonPort}${pathname}`, {
      method: request.method,
      headers: Object.fromEntries(request.headers),
      body: await request.text(),
    });
    return new miniflare.Response(body, { status, headers: Object.fromEntries(headers) });
  }
}
