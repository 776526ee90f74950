/** Problem details, RFC 9457. */
export function problem(status: number, title: string, detail?: string, headers?: Record<string, string>): Response {
  return new Response(JSON.stringify({ type: 'about:blank', title, status, detail }), {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
  });
}
