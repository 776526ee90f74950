interface Env {
  readonly EVENTS: Queue;
  readonly GITHUB_WEBHOOK_SECRET: string;
}

/**
 * Does what Cloudflare's example of a Workflow behind a webhook does before its 200
 * (https://developers.cloudflare.com/workflows/examples/trigger-from-webhook): verifies, and sends the event to a
 * queue. Duplicates are found later, because Postgres is not asked.
 */
export default {
  async fetch(request, env): Promise<Response> {
    const body = await request.arrayBuffer();
    const secret = new TextEncoder().encode(env.GITHUB_WEBHOOK_SECRET);
    const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
    const signature = Uint8Array.fromHex((request.headers.get('x-hub-signature-256') ?? '').slice('sha256='.length));
    if (!(await crypto.subtle.verify('HMAC', key, signature, body))) return new Response(null, { status: 401 });
    const id = request.headers.get('x-github-delivery');
    await env.EVENTS.send({ id, event: JSON.parse(new TextDecoder().decode(body)) });
    return Response.json({ status: 'accepted' });
  },
} satisfies ExportedHandler<Env>;
