import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, it, vi } from 'vitest';
import { connect } from '../../cli/database/connect.ts';
import { keptDir } from '../../cli/local/postgres-files.ts';
import { makeCheckout, processesOf } from '../checkout.ts';
import { WAIT } from '../running.ts';

it('npm run db starts a migrated database for plain wrangler, which reads .dev.vars, and ends cleanly', async () => {
  const checkout = await makeCheckout();
  const dataDir = keptDir(join(checkout.path, '.data/postgres'));
  const db = checkout.run(['db']);
  try {
    await vi.waitFor(() => expect(db.output()).toContain('\nready '), WAIT);
    expect(db.output()).toContain('npx wrangler dev -c wrangler.toml -c wrangler.consumer.toml -c wrangler.ops.toml');
    const vars = parseEnv(await readFile(join(checkout.path, '.dev.vars'), 'utf8'));
    expect(Object.keys(vars)).toEqual(['DATABASE_URL', 'ORDERS_WEBHOOK_SECRET']);
    const client = await connect(vars.DATABASE_URL ?? '');
    const { rows } = await client.query('select count(*)::int as events from webhooks.events');
    const { rows: roles } = await client.query(
      `select rolname from pg_roles where rolname like 'claimcheck\\_%' order by 1`,
    );
    await client.end();
    expect(rows).toEqual([{ events: 0 }]);
    expect(roles.map(({ rolname }) => rolname)).toEqual([
      'claimcheck_consumer',
      'claimcheck_ops',
      'claimcheck_receiver',
    ]);
  } finally {
    db.child.kill('SIGINT');
  }
  expect((await db.result).code).toBe(0);
  expect(processesOf(checkout.path, dataDir)).toEqual([]);
  await checkout.remove();
  await rm(dataDir, { recursive: true, force: true });
});
