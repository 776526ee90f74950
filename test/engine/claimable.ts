import type { Claimable } from '../../src/db/incoming.ts';

export function claimable(eventId: string, more: Partial<Claimable> = {}): Claimable {
  return { eventId, type: 'test', occurredAt: null, fingerprint: null, body: '{}', ...more };
}
