/** A queue as a Worker sees it. A real one can't be made to refuse on this machine. */
export class FakeQueue {
  readonly tickets: unknown[] = [];
  readonly forwarded: Uint8Array<ArrayBuffer>[] = [];
  refuses = false;

  send = (message: Uint8Array<ArrayBuffer>) => this.write(() => this.forwarded.push(message));
  sendBatch = (messages: { body: unknown }[]) =>
    this.write(() => this.tickets.push(...messages.map(({ body }) => body)));

  private async write(write: () => void): Promise<void> {
    if (this.refuses) throw new Error('Too Many Requests (10250)');
    write();
  }
}
