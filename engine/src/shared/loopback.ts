const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/** Whether a host, as written in a URL, is this machine. */
export function isLoopback(host: string | undefined): boolean {
  return host !== undefined && LOOPBACK.includes(host);
}
