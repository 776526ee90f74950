interface Env {
  readonly EVENTS: Queue;
  readonly DATABASE_URL: string;
  readonly GITHUB_WEBHOOK_SECRET: string;
  readonly SENDGRID_WEBHOOK_SECRET: string;
}

/** The minimum that a Worker must do before it may answer 200. */
export default {
  async fetch(request, env): Promise<Response> {
    const now = new Date();
    const source = request.url.slice(request.url.lastIndexOf('/') + 1);
    const bytes = await request.arrayBuffer();
    const body = new TextDecoder().decode(bytes);
    const { headers } = request;
    if (source === 'sendgrid') {
      if (!(await isFromSendgrid(headers, bytes, env))) return new Response(null, { status: 401 });
      const items = JSON.parse(body) as { sg_event_id: string; event: string; timestamp: number }[];
      const claimed = await claim(
        env,
        BATCH,
        [
          source,
          now.toISOString(),
          due(now),
          keep(headers),
          items.map((item) => item.sg_event_id),
          items.map((item) => item.event),
          items.map((item) => new Date(item.timestamp * 1000).toISOString()),
          items.map((item) => JSON.stringify(item)),
        ].map((param) => (Array.isArray(param) ? literal(param) : param)),
      );
      if (claimed.length > 0) {
        await env.EVENTS.sendBatch(claimed.map((eventId) => ({ body: { version: 1, source, eventId } })));
      }
      return Response.json({ status: 'accepted', accepted: claimed.length, duplicate: items.length - claimed.length });
    }

    if (!(await isFromGithub(headers, bytes, env))) return new Response(null, { status: 401 });
    const id = headers.get('x-github-delivery') ?? '';
    const type = headers.get('x-github-event') ?? '';
    const { action } = JSON.parse(body);
    const fingerprint = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex();
    const claimed = await claim(env, SINGLE, [
      source,
      id,
      action === undefined ? type : `${type}.${action}`,
      null,
      now.toISOString(),
      due(now),
      fingerprint,
      body,
      keep(headers),
    ]);
    if (claimed.length > 0) await env.EVENTS.sendBatch([{ body: { version: 1, source, eventId: id } }]);
    return Response.json({ status: claimed.length > 0 ? 'accepted' : 'duplicate' });
  },
} satisfies ExportedHandler<Env>;

const utf8 = new TextEncoder();
const keys = new Map<string, CryptoKey>();

async function keyOf(name: string, format: 'raw' | 'spki', bytes: () => BufferSource): Promise<CryptoKey> {
  const known = keys.get(name);
  if (known) return known;
  const algorithm =
    format === 'raw' ? { name: 'HMAC', hash: 'SHA-256' } : { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey(format, bytes(), algorithm, false, ['verify']);
  keys.set(name, key);
  return key;
}

async function isFromGithub(headers: Headers, bytes: ArrayBuffer, env: Env): Promise<boolean> {
  const key = await keyOf('github', 'raw', () => utf8.encode(env.GITHUB_WEBHOOK_SECRET));
  const signature = Uint8Array.fromHex((headers.get('x-hub-signature-256') ?? '').slice('sha256='.length));
  return crypto.subtle.verify('HMAC', key, signature, bytes);
}

async function isFromSendgrid(headers: Headers, bytes: ArrayBuffer, env: Env): Promise<boolean> {
  const key = await keyOf('sendgrid', 'spki', () => Uint8Array.fromBase64(env.SENDGRID_WEBHOOK_SECRET));
  const der = Uint8Array.fromBase64(headers.get('x-twilio-email-event-webhook-signature') ?? '');
  const timestamp = headers.get('x-twilio-email-event-webhook-timestamp') ?? '';
  const signed = joined(utf8.encode(timestamp), bytes);
  return crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, fromDer(der), signed);
}

function joined(start: Uint8Array, rest: ArrayBuffer): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(start.length + rest.byteLength);
  bytes.set(start);
  bytes.set(new Uint8Array(rest), start.length);
  return bytes;
}

/** Converts two DER integers to two numbers of 32 bytes. */
function fromDer(der: Uint8Array): Uint8Array<ArrayBuffer> {
  const raw = new Uint8Array(64);
  let at = 2;
  for (const end of [32, 64]) {
    const length = der[at + 1] ?? 0;
    const digits = der.subarray(at + 2 + Math.max(0, length - 32), at + 2 + length);
    raw.set(digits, end - digits.length);
    at += 2 + length;
  }
  return raw;
}

/** The same due time as the receiver's. */
function due(now: Date): string {
  return new Date(now.getTime() + 600_000).toISOString();
}

function keep(headers: Headers): string {
  return JSON.stringify({ 'content-type': headers.get('content-type'), 'user-agent': headers.get('user-agent') });
}

function literal(texts: readonly string[]): string {
  return `{${texts.map((one) => JSON.stringify(one)).join()}}`;
}

const SINGLE = `with claimed as (
  insert into webhooks.events (source, event_id, type, occurred_at, received_at, due_at, fingerprint)
  values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing returning event_id
), kept as (
  insert into webhooks.bodies (source, event_id, body, headers, received_at)
  select $1, event_id, $8, $9::jsonb, $5 from claimed
) select event_id from claimed`;

const BATCH = `with incoming as (
  select * from unnest($5::text[], $6::text[], $7::timestamptz[], $8::text[]) as incoming (id, type, at, body)
), claimed as (
  insert into webhooks.events (source, event_id, type, occurred_at, received_at, due_at)
  select $1, id, type, at, $2, $3 from incoming on conflict do nothing returning event_id
), kept as (
  insert into webhooks.bodies (source, event_id, body, headers, received_at)
  select $1, id, body, $4::jsonb, $2 from incoming join claimed on event_id = id
) select event_id from claimed`;

/** Calls Neon's HTTP interface as its driver does. */
async function claim(env: Env, query: string, params: readonly (string | null)[]): Promise<string[]> {
  const { host } = new URL(env.DATABASE_URL);
  const response = await fetch(`http://${host}/sql`, {
    method: 'POST',
    headers: {
      'neon-connection-string': env.DATABASE_URL,
      'neon-raw-text-output': 'true',
      'neon-array-mode': 'true',
    },
    body: JSON.stringify({ query, params }),
  });
  const { rows } = (await response.json()) as { rows: [string][] };
  return rows.map(([id]) => id);
}
