import type { Reply } from '../providers/types.ts';
import type { FilledReply } from './handshake.ts';
import type { Outcome } from './receive.ts';

/** Seconds until a sender should come again. Neon is awake by then, and no provider gives up so soon. */
const RETRY_AFTER = '30';

/** The table of status codes. Every refused signature looks the same from outside. `ack` is the provider's own 200. */
export function answer(result: Outcome, ack?: Reply): Response {
  switch (result.outcome) {
    case 'handshake':
      return respond(result.reply);
    case 'accepted':
    case 'duplicate': {
      if (ack) return respond({ status: ack.status, headers: ack.headers ?? {}, body: ack.text ?? null });
      const { outcome: status, accepted, duplicate } = result;
      return Response.json(result.eventIds.length === 1 ? { status } : { status, accepted, duplicate });
    }
    case 'unclaimable':
      return problem(400, 'The delivery is signed correctly, but holds no event that can be claimed', result.reason);
    case 'refused':
      return problem(401, 'The signature is missing, wrong or stale');
    case 'too_large':
      return problem(413, 'The body is larger than this source accepts');
    case 'no_usable_secret':
    case 'not_held':
      return problem(503, 'The event could not be held: send it again later', undefined, {
        'retry-after': RETRY_AFTER,
      });
  }
}

/** What is echoed must be taken for what it is called, and never for a page (Dropbox demands the header). */
function respond({ status, headers, body }: FilledReply): Response {
  return new Response(body, { status, headers: { 'x-content-type-options': 'nosniff', ...headers } });
}

/** Problem details, RFC 9457. */
export function problem(status: number, title: string, detail?: string, headers?: Record<string, string>): Response {
  return new Response(JSON.stringify({ type: 'about:blank', title, status, detail }), {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
  });
}
