import { LOOPBACK } from '../scripts/local/port.ts';

/** How much memory the JavaScript of a Worker occupies, in MiB, as workerd's inspector says. */
export async function heapOf(port: number, worker: string): Promise<number> {
  const targets = (await (await fetch(`http://${LOOPBACK}:${port}/json`)).json()) as Target[];
  const target = targets.find(({ id, title }) => id === worker || title.includes(worker));
  if (!target) throw new Error(`the inspector knows no Worker ${worker}: ${JSON.stringify(targets)}`);
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  try {
    return await new Promise<number>((resolve, reject) => {
      socket.addEventListener('open', () => socket.send(JSON.stringify({ id: 1, method: 'Runtime.getHeapUsage' })));
      socket.addEventListener('error', () => reject(new Error('the inspector hung up')));
      socket.addEventListener('message', ({ data }) => {
        const { id, result } = JSON.parse(String(data));
        if (id === 1) resolve((result.usedSize + (result.backingStorageSize ?? 0)) / 1024 / 1024);
      });
    });
  } finally {
    socket.close();
  }
}

interface Target {
  readonly id: string;
  readonly title: string;
  readonly webSocketDebuggerUrl: string;
}
