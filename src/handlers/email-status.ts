import { defineHandler, newer } from 'claimcheck';
import * as v from 'valibot';
import { emailStatus } from '../tables.ts';

const EmailEvent = v.object({ email: v.string() });

/** Deliveries and bounces come in any order: the newest one decides the status of the address. */
function becomes(status: 'delivered' | 'bounced') {
  return defineHandler({
    schema: EmailEvent,
    handle({ data: { email }, occurredAt, receivedAt, id }, { db }) {
      const row = { status, changedAt: occurredAt, receivedAt, changedBy: id };
      return [
        db
          .insert(emailStatus)
          .values({ email, ...row })
          .onConflictDoUpdate({
            target: emailStatus.email,
            set: row,
            setWhere: newer(emailStatus.changedAt, emailStatus.receivedAt, emailStatus.changedBy),
          }),
      ];
    },
  });
}

export const delivered = becomes('delivered');
export const bounced = becomes('bounced');
