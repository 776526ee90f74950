/** A queue as a Worker sees it. A real one can't be made to refuse on this machine. */
export class FakeQueue {
  readonly tickets: unknown[] = [];
  /** In seconds, of each ticket. */
  readonly delays: number[] = [];
  readonly forwarded: Uint8Array<ArrayBuffer>[] = [];
  refuses = false;

  send = (message: Uint8Array<ArrayBuffer>) => this.write(() => this.forwarded.push(message));
  sendBatch = (messages: { body: unknown; delaySeconds?: number }[]) =>
    this.write(() => {
      this.tickets.push(...messages.map(({ body }) => body));
      this.delays.push(...messages.map(({ delaySeconds = 0 }) => delaySeconds));
    });

  private async write(write: () => void): Promise<void> {
    if (this.refuses) throw new Error('Too Many Requests (10250)');
    write();
  }
}
