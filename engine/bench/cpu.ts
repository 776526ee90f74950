import { readdirSync, readFileSync } from 'node:fs';

/** What has ended is counted in ticks, of which Linux has 100 a second on every platform that Node runs on. */
const MS_PER_TICK = 10;

/** CPU time of a process in ms: the threads that it has now, in nanoseconds. `NaN` without /proc, as on a Mac. */
export function cpuOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + threadCpuOf(`${pid}/task/${thread}`), 0);
  } catch {
    return Number.NaN;
  }
}

/**
 * CPU time of Postgres, in ms: of its first process and of all children that it has (one for each connection) or had.
 * Each has one thread. Those that still run are read in nanoseconds: a completion of a hundred events takes less than a tick.
 */
export function cpuOfFamily(pid: number): number {
  const own = timesOf(pid);
  if (own === undefined) return Number.NaN;
  const [, , endedUser = 0, endedSystem = 0] = own;
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const children = all.map(Number).filter((child) => timesOf(child)?.parent === pid);
  const running = [pid, ...children].map(threadCpuOf).reduce((sum, ms) => sum + ms, 0);
  return running + (endedUser + endedSystem) * MS_PER_TICK;
}

/** It may have ended a moment ago: a process of Postgres is among the ended ones next time. */
function threadCpuOf(pid: number | string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return 0;
  }
}

/** Of proc_pid_stat(5): own time in user and kernel mode, and the same of children that have ended. */
function timesOf(pid: number): (number[] & { parent?: number }) | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in parentheses, and may contain any character.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return Object.assign(fields.slice(11, 15).map(Number), { parent: Number(fields[1]) });
  } catch {
    return undefined;
  }
}
