import { eventIdFields, type LogFields } from '../log.ts';
import { problem } from '../problem.ts';
import type { Reply } from '../providers/types.ts';
import type { FilledReply } from './handshake.ts';
import type { DeliveryOutcome } from './receive.ts';

/** Seconds until a sender should try again. Neon is awake by then, and no provider gives up so soon. */
const RETRY_AFTER = '30';

/** The table of status codes. Every refused signature looks the same from outside. `ack` is the provider's own 200. */
export function answer(result: DeliveryOutcome | { outcome: 'error' }, ack?: Reply): Response {
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
      return problem(
        400,
        'The delivery is signed correctly, but it contains no event that can be claimed',
        result.reason,
      );
    case 'refused':
      return problem(401, 'The signature is missing, wrong or stale');
    case 'too_large':
      return problem(413, 'The body is larger than this source accepts');
    case 'no_usable_secret':
    case 'too_slow':
    case 'overloaded':
    case 'hung_up':
    case 'not_held':
    case 'error':
      return problem(503, 'The event could not be stored: send it again later', undefined, {
        'retry-after': RETRY_AFTER,
      });
  }
}

/** How a delivery's outcome appears in the log. */
export function fieldsOf(result: DeliveryOutcome): LogFields {
  const { outcome } = result;
  switch (result.outcome) {
    case 'accepted':
    case 'duplicate': {
      const { eventIds, parked, forwarded } = result;
      return {
        outcome,
        ...eventIdFields(eventIds),
        ...(parked > 0 ? { parked } : {}),
        ...(forwarded ? { forwarded } : {}),
      };
    }
    case 'refused':
    case 'unclaimable':
      return { outcome, reason: result.reason };
    case 'handshake':
      // A secret that was handed over. Only the operator can read it: npm run unseal.
      return { outcome, sealed: result.sealed };
    case 'too_large':
    case 'no_usable_secret':
    case 'too_slow':
    case 'overloaded':
    case 'hung_up':
    case 'not_held':
      return { outcome };
  }
}

/** `nosniff`: a handshake repeats what a stranger wrote, and no browser may take it for a page. Dropbox requires it. */
function respond({ status, headers, body }: FilledReply): Response {
  return new Response(body, { status, headers: { 'x-content-type-options': 'nosniff', ...headers } });
}
