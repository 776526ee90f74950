import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { readConfig, standInVars, type WorkerConfig } from '../../../scripts/local/config.ts';
import { freePort, LOOPBACK } from '../../../scripts/local/port.ts';
import { learnPassword, learnVariables, search } from '../canaries/canaries.ts';
import type { Consume, Settled } from './queues.ts';

export interface Deployment {
  /** The bundles. They may be one file. */
  readonly receiver: string;
  readonly consumer: string;
  /** The wrangler files: the names of the queues, and the variables. */
  readonly configs: { readonly receiver: string; readonly consumer: string };
  /** Each Worker's DATABASE_URL. */
  readonly databaseUrls: { readonly receiver: string; readonly consumer: string };
  readonly secrets: Readonly<Record<string, string>>;
  readonly outsideUrl: string;
  readonly queuesPort: number;
}

const FOLDER = 'test/engine/faults';

/**
 * Both Workers in a workerd process of their own, which can be killed and started again. Their queues are outside of it,
 * as Cloudflare's are: what is on a queue must survive the Worker that has sent it.
 */
export class Workerd {
  readonly url: string;
  private readonly gate: string;
  private readonly folder: string;
  private process: ChildProcess | undefined;

  private constructor(ports: { readonly receiver: number; readonly gate: number }, deployment: Deployment) {
    this.url = `http://${LOOPBACK}:${ports.receiver}/`;
    this.gate = `http://${LOOPBACK}:${ports.gate}/`;
    // The file holds made-up secrets only, and is removed at the end.
    this.folder = mkdtempSync(join(tmpdir(), 'workerd-'));
    for (const name of ['receiver', 'consumer'] as const) cpSync(deployment[name], join(this.folder, `${name}.js`));
    cpSync(join(FOLDER, 'gate.js'), join(this.folder, 'gate.js'));
    writeFileSync(join(this.folder, 'config.capnp'), configOf(deployment, ports));
  }

  static async start(deployment: Deployment): Promise<Workerd> {
    learnVariables(deployment.secrets);
    for (const url of Object.values(deployment.databaseUrls)) learnPassword(url);
    const workerd = new Workerd({ receiver: await freePort(), gate: await freePort() }, deployment);
    await workerd.restart();
    return workerd;
  }

  /** Starts it, also after `kill`, on the same ports. */
  async restart(): Promise<void> {
    const binary: string = createRequire(import.meta.url)('workerd').default;
    const child = spawn(binary, ['serve', '--experimental', '--control-fd=3', join(this.folder, 'config.capnp')], {
      stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    });
    createInterface(child.stdout as Readable).on('line', (line) => search(line, 'the log of workerd'));
    const end = () => child.kill('SIGKILL');
    process.once('exit', end);
    child.once('exit', () => process.off('exit', end));
    this.process = child;
    const ready = new Promise<void>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`workerd ended with ${code}`)));
      // One line for each socket.
      let lines = '';
      child.stdio[3]?.on('data', (chunk) => {
        lines += chunk;
        if (lines.split('"listen"').length > 2) resolve();
      });
    });
    await ready;
  }

  async kill(): Promise<void> {
    if (this.process === undefined || this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill('SIGKILL');
    await once(this.process, 'exit');
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  readonly consume: Consume = async (queue, messages) => (await this.through({ queue, messages })) as Settled;

  /** Runs the receiver's cron, as if it were this time. */
  async tick(at: Date): Promise<void> {
    await this.through({ scheduledTime: at.getTime() });
  }

  private async through(message: object): Promise<unknown> {
    const response = await fetch(this.gate, { method: 'POST', body: JSON.stringify(message) });
    if (!response.ok) throw new Error(`the gate answered ${response.status}`);
    return response.json();
  }
}

function configOf(deployment: Deployment, ports: { readonly receiver: number; readonly gate: number }): string {
  const { configs, databaseUrls, secrets, outsideUrl, queuesPort } = deployment;
  const receiver = readConfig(configs.receiver);
  const consumer = readConfig(configs.consumer);
  const queues = new Set([receiver, consumer].flatMap(({ produces }) => Object.values(produces)));
  const worker = (name: string, config: WorkerConfig, texts: Readonly<Record<string, string>>) => {
    const queueBindings = Object.entries(config.produces).map(
      ([binding, queue]) => `(name = ${text(binding)}, queue = ${text(`queue ${queue}`)})`,
    );
    const vars = { ...config.vars, ...standInVars(config, outsideUrl), ...texts };
    const textBindings = Object.entries(vars).map(
      ([binding, value]) => `(name = ${text(binding)}, text = ${text(String(value))})`,
    );
    return service(name, config.raw.compatibility_date, '', [...queueBindings, ...textBindings]);
  };
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "internet", network = (allow = ["public", "private"])),
    ${[...queues]
      .map(
        (queue) => `(name = ${text(`queue ${queue}`)}, external = (address = "${LOOPBACK}:${queuesPort}",
      http = (injectRequestHeaders = [(name = "x-queue", value = ${text(queue ?? '')})])))`,
      )
      .join(',\n    ')},
    ${worker('receiver', receiver, { DATABASE_URL: databaseUrls.receiver, ...secrets })},
    ${worker('consumer', consumer, { DATABASE_URL: databaseUrls.consumer })},
    ${service('gate', receiver.raw.compatibility_date, '"service_binding_extra_handlers"', [
      '(name = "RECEIVER", service = "receiver")',
      '(name = "CONSUMER", service = "consumer")',
    ])}
  ],
  sockets = [
    (name = "receiver", address = "${LOOPBACK}:${ports.receiver}", http = (), service = "receiver"),
    (name = "gate", address = "${LOOPBACK}:${ports.gate}", http = (), service = "gate")
  ]
);
`;
}

function service(
  name: string,
  compatibilityDate: string | undefined,
  flags: string,
  bindings: readonly string[],
): string {
  return `(name = "${name}", worker = (
      modules = [(name = "${name}.js", esModule = embed "${name}.js")],
      compatibilityDate = ${text(compatibilityDate ?? '')}, compatibilityFlags = [${flags}],
      bindings = [${bindings.join(', ')}]
    ))`;
}

/** A string of Cap'n Proto's text format, which has the escapes of JSON for all that occurs here. */
const text = JSON.stringify;
