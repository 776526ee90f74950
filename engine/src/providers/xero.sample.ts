import type { ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['INVOICE.UPDATE'],
  body: (id, type, now) => {
    const [eventCategory, eventType] = type.split('.');
    const event = { resourceId: id, tenantId: 'tenant-sample', eventCategory, eventType };
    return {
      events: [{ ...event, eventDateUtc: now.toISOString() }],
      firstEventSequence: 1,
      lastEventSequence: 1,
      entropy: 'SAMPLE',
    };
  },
};
