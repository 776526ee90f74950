import { randomUUID } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { useRunning } from '../running.ts';
import { report } from './form.ts';

const running = useRunning({ consumer: 'test/engine/faults/wrangler.toml' });
const { post, sign, sql } = running;

const OUTAGE_MS = 10_000;
const SENDERS = 10;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

it.each(['SIGINT', 'SIGKILL'] as const)(
  'while Postgres is away for ten seconds under load (%s), every answer is 200 or 503, and every accepted event is kept',
  async (signal) => {
    const held: string[] = [];
    const answers: number[] = [];
    let loading = true;
    const sender = async () => {
      while (loading) {
        const id = randomUUID();
        const { status } = await post('gethook', await sign('gethook', `{"id":"${id}","type":"any"}`));
        answers.push(status);
        if (status === 200) held.push(id);
        await sleep(20);
      }
    };
    const senders = Array.from({ length: SENDERS }, sender);
    await sleep(1000);
    await running.stack.postgres.halt(signal);
    const duringOutage = answers.length;
    await sleep(OUTAGE_MS);
    expect(answers.length).toBeGreaterThan(duringOutage);
    await running.stack.postgres.restart();
    await sleep(1000);
    loading = false;
    await Promise.all(senders);

    expect(answers.filter((status) => status !== 200 && status !== 503)).toEqual([]);
    await vi.waitFor(
      async () => {
        const rows = await sql<{ event_id: string }>(
          `select event_id from webhook_events where event_id = any($1) and status = 'ignored'`,
          [held],
        );
        expect(rows).toHaveLength(held.length);
      },
      { timeout: 60_000, interval: 500 },
    );
    report('outages', {
      'Postgres is ended by': signal,
      'away for (s)': OUTAGE_MS / 1000,
      deliveries: answers.length,
      'answered 200': held.length,
      'answered 503': answers.length - held.length,
      lost: 0,
    });
  },
  120_000,
);
