import { readdirSync, readFileSync } from 'node:fs';

/** The kernel counts CPU time in ticks, of which Linux has 100 a second on every platform that Node runs on. */
const MS_PER_TICK = 10;

/** CPU time of a process with all its threads, in ms. `NaN` without /proc, as on a Mac. */
export function cpuOf(pid: number): number {
  const [utime = Number.NaN, stime = Number.NaN] = timesOf(pid) ?? [];
  return (utime + stime) * MS_PER_TICK;
}

/** CPU time of a process and of all children that it has or had: Postgres has one for each connection. */
export function cpuOfFamily(pid: number): number {
  const own = timesOf(pid);
  if (own === undefined) return Number.NaN;
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => timesOf(Number(name)))
    .filter((times) => times?.parent === pid);
  return [own, ...children].flatMap((times) => times ?? []).reduce((sum, ticks) => sum + ticks, 0) * MS_PER_TICK;
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

/** Memory that a process occupies, in MiB. `NaN` without /proc. */
export function residentOf(pid: number): number {
  try {
    const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kib) / 1024;
  } catch {
    return Number.NaN;
  }
}
