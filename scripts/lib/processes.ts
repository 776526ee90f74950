import type { ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Enough to recognise a program by. */
const MAX_COMMAND = 100;

/** The command line of a process. `undefined` if there is no such process, or no /proc as on Linux. */
export function commandOf(pid: number): string | undefined {
  const text = readIfAllowed(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  return text?.replaceAll('\0', ' ').trim().slice(0, MAX_COMMAND);
}

/** Who listens on a port, in words: on Linux its process, elsewhere the command that tells. */
export function describeHolder(port: number): string {
  if (!existsSync('/proc/net/tcp')) return `lsof -i :${port} shows the process that holds it`;
  const pid = pidListeningOn(port);
  return pid ? `process ${pid} holds it: ${commandOf(pid)}` : 'a process of another user holds it';
}

function pidListeningOn(port: number): number | undefined {
  const inodes = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => inodesListeningOn(port, file)));
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const found = pids.find((pid) => socketsOf(pid).some((inode) => inodes.has(inode)));
  return found === undefined ? undefined : Number(found);
}

/** In these tables a port is hexadecimal, and state 0A is LISTEN (proc_pid_net(5)). */
function inodesListeningOn(port: number, file: string): string[] {
  const text = readIfAllowed(() => readFileSync(file, 'utf8')) ?? '';
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return text.split('\n').flatMap((line) => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    return local?.endsWith(`:${hex}`) && state === '0A' && inode ? [inode] : [];
  });
}

function socketsOf(pid: string): string[] {
  const folder = `/proc/${pid}/fd`;
  const names = readIfAllowed(() => readdirSync(folder)) ?? [];
  return names.flatMap((name) => {
    const target = readIfAllowed(() => readlinkSync(`${folder}/${name}`));
    return /^socket:\[(\d+)\]$/.exec(target ?? '')?.[1] ?? [];
  });
}

/** Processes end while we look at them, and those of other users are closed to us. */
function readIfAllowed<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Keeps the end of what a process prints, to explain why it failed. */
export function collect(child: ChildProcess): () => string {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => (output = `${output}${chunk}`.slice(-10_000)));
  return () => output;
}

export function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}
