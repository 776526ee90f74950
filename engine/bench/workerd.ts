import { CONFIGS, readConfig } from '../cli/config/worker-config.ts';
import { startWorkerd as start, type WorkerdWorker } from '../workshop/workerd.ts';
import { cpuOf } from './cpu.ts';

export interface Workerd extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** CPU time of the process with all its Workers in ms. */
  cpu(): number;
}

/** Runs Workers directly in workerd. The first one gets the HTTP requests. Log lines are discarded. */
export async function startWorkerd(
  workers: Readonly<Record<string, Omit<WorkerdWorker, 'compatibilityDate'>>>,
): Promise<Workerd> {
  const { compatibility_date: compatibilityDate } = readConfig(CONFIGS.receiver).raw;
  const dated = Object.entries(workers).map(([name, worker]) => [name, { ...worker, compatibilityDate }] as const);
  const [first = ''] = Object.keys(workers);
  const { pid, urlOf, stop } = await start(Object.fromEntries(dated), { sockets: { main: first } });
  return {
    url: urlOf('main'),
    pid,
    cpu: () => cpuOf(pid),
    [Symbol.asyncDispose]: stop,
  };
}
