const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/** Whether a host, as URLs write it, is this machine itself. */
export function isLoopback(host: string | undefined): boolean {
  return host !== undefined && LOOPBACK.includes(host);
}
