// YOURS: what an event does. One file per handler, and one line here.
import { defineHandlers } from 'claimcheck';
import { sources } from '../sources.ts';
import { bounced, delivered } from './email-status.ts';
import { invoicePaid } from './invoice-paid.ts';
import { pushed } from './repository.ts';

export const handlers = defineHandlers(sources, {
  stripe: { 'invoice.paid': invoicePaid },
  sesmetric: { delivery: delivered, bounce: bounced },
  github: { push: pushed },
});
