import type { ChildProcess } from 'node:child_process';

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
