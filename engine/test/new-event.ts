import type { ClaimRequest, NewEvent } from '../src/db/claim.ts';

export function newEvent(eventId: string, more: Partial<NewEvent> = {}): NewEvent {
  return { eventId, type: 'test', occurredAt: null, fingerprint: null, body: '{}', ...more };
}

/** What a delivery of these events asks for: names stand for plain events. */
export function claimRequest(
  events: readonly (string | NewEvent)[],
  {
    source = 'test',
    headers = {},
    receivedAt,
    unsignedIds = false,
  }: Partial<ClaimRequest> & Pick<ClaimRequest, 'receivedAt'>,
): ClaimRequest {
  const all = events.map((one) => (typeof one === 'string' ? newEvent(one) : one));
  return { source, headers, receivedAt, unsignedIds, events: all };
}
