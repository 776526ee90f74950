import { readdirSync, readFileSync } from 'node:fs';

/** The time of ended processes is counted in ticks. Linux has 100 a second on every platform that Node supports. */
const MS_PER_TICK = 10;

/** CPU time of a process's current threads in ms, measured in nanoseconds. `NaN` without /proc, as on a Mac. */
export function cpuOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + threadCpuOf(`${pid}/task/${thread}`), 0);
  } catch {
    return Number.NaN;
  }
}

/**
 * CPU time of Postgres in ms: of its first process and of all current (one for each connection) and former children.
 * Each has one thread. Running processes are read in nanoseconds, because completing a hundred events takes less than a
 * tick.
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

/** The thread may have just ended. A Postgres process is then counted among the ended ones next time. */
function threadCpuOf(pid: number | string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return 0;
  }
}

/** Reads from proc_pid_stat(5) the user and kernel time of a process and of its ended children. */
function timesOf(pid: number): (number[] & { parent?: number }) | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Skip the program's name, which is in parentheses and may contain any character.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return Object.assign(fields.slice(11, 15).map(Number), { parent: Number(fields[1]) });
  } catch {
    return undefined;
  }
}
