import { useApp } from 'claimcheck/testing';
import { expect, it } from 'vitest';
import { emailStatus } from '../src/tables.ts';

const app = useApp();

const mail = (id: string, type: 'delivery' | 'bounce', second: number) => ({
  id,
  type,
  email: 'a@example.com',
  created_at: new Date(Date.UTC(2026, 2, 1, 12, 0, second)),
});
const older = mail('a', 'delivery', 1);
const newer = mail('b', 'bounce', 2);

it.each([
  ['in their order', [older, newer]],
  ['in the opposite order', [newer, older]],
])('the newest event decides the status of an address, delivered %s', async (_order, events) => {
  for (const event of events) await app.deliver('sesmetric', event.type, event);
  expect(await app.db.select().from(emailStatus)).toMatchObject([{ status: 'bounced', changedBy: 'b' }]);
});

it('of two events of one second, the one that was received later decides', async () => {
  for (const event of [mail('z', 'delivery', 1), mail('a', 'bounce', 1)])
    await app.deliver('sesmetric', event.type, event);
  expect(await app.db.select().from(emailStatus)).toMatchObject([{ status: 'bounced', changedBy: 'a' }]);
});
