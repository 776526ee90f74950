import { readConfig, standInVars, type WorkerConfig } from '../../../scripts/config/worker-config.ts';
import { type Workerd as Process, startWorkerd, type WorkerdWorker } from '../../../workshop/workerd.ts';
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

/**
 * Receiver and consumer in a workerd process of their own, which can be killed and started again. Their queues are outside
 * of it, as Cloudflare's are: what is on a queue must survive the Worker that has sent it.
 */
export class Workerd {
  readonly url: string;
  private readonly process: Process;

  private constructor(process: Process) {
    this.process = process;
    this.url = `${process.urlOf('receiver')}/`;
  }

  static async start(deployment: Deployment): Promise<Workerd> {
    const { configs, databaseUrls, secrets, outsideUrl, queuesPort } = deployment;
    learnVariables(secrets);
    for (const url of Object.values(databaseUrls)) learnPassword(url);
    const receiver = readConfig(configs.receiver);
    const consumer = readConfig(configs.consumer);
    const compatibilityDate = receiver.raw.compatibility_date;
    const worker = (script: string, config: WorkerConfig, more: Readonly<Record<string, string>>): WorkerdWorker => ({
      script,
      compatibilityDate,
      vars: { ...config.vars, ...standInVars(config, outsideUrl), ...more },
      queues: Object.fromEntries(queuesOf(config).map(([binding, queue]) => [binding, serviceOf(queue)])),
    });
    const external = [...queuesOf(receiver), ...queuesOf(consumer)].map(
      ([, queue]) => [serviceOf(queue), { port: queuesPort, header: ['x-queue', queue] }] as const,
    );
    const process = await startWorkerd(
      {
        receiver: worker(deployment.receiver, receiver, { DATABASE_URL: databaseUrls.receiver, ...secrets }),
        consumer: worker(deployment.consumer, consumer, { DATABASE_URL: databaseUrls.consumer }),
        gate: {
          script: 'test/engine/faults/gate.js',
          compatibilityDate,
          flags: ['service_binding_extra_handlers'],
          services: { CONSUMER: 'consumer' },
        },
      },
      {
        sockets: { receiver: 'receiver', gate: 'gate' },
        external: Object.fromEntries(external),
        network: ['public', 'private'],
        onLine: (line) => search(line, 'the log of workerd'),
      },
    );
    return new Workerd(process);
  }

  /** Starts it after `kill`, on the same ports. */
  restart(): Promise<void> {
    return this.process.restart();
  }

  kill(): Promise<void> {
    return this.process.kill();
  }

  stop(): Promise<void> {
    return this.process.stop();
  }

  readonly consume: Consume = async (queue, messages) => (await this.through({ queue, messages })) as Settled;

  /** Runs the consumer's cron, as if it were this time. */
  async tick(at: Date): Promise<void> {
    await this.through({ scheduledTime: at.getTime() });
  }

  private async through(message: object): Promise<unknown> {
    const response = await fetch(this.process.urlOf('gate'), { method: 'POST', body: JSON.stringify(message) });
    if (!response.ok) throw new Error(`the gate answered ${response.status}`);
    return response.json();
  }
}

function queuesOf({ produces }: WorkerConfig): [binding: string, queue: string][] {
  return Object.entries(produces).flatMap(([binding, queue]) => (queue === undefined ? [] : [[binding, queue]]));
}

const serviceOf = (queue: string) => `queue ${queue}`;
