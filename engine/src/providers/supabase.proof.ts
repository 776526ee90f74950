import { type Proof, said } from './proof.ts';
import { pokePairs } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-20',
    from: 'supabase.com/docs/guides/database/webhooks',
    signature: said('token at header:authorization', 'trigger.dev/docs/webhooks/providers/supabase: "aren\'t signed"'),
    covers: 'nothing',
    key: 'the token',
    id: 'every delivery',
    isIdSigned: false,
    replayKey: 'none',
    type: said('schema + table + type', 'trigger.dev webhook-sources supabase.ts'),
    limit: said(null, 'the trigger sets it: one second, unless its last argument says more'),
    retries: said(0, 'supabase/pg_net README.md: only with a table and a function of your own'),
    ends: 'there are no retries',
    same: 'nothing: a body has neither an id nor a time',
    limits: [
      'A change is lost if we do not answer in time. Set the timeout of the webhook to at least 5,000 ms, and reconcile what must not be lost.',
      'Both rows are in the body (`record`, `old_record`), so a secret in a column is in it as well.',
    ],
    open: 'how large a body may be. The requests wait in an unlogged table, which a crash of Postgres empties',
  },
  pairs: pokePairs(
    'trigger.dev webhook-sources supabase.ts',
    { type: 'UPDATE', table: 'orders', schema: 'public', record: { id: 4821 }, old_record: { id: 4821 } },
    ['random', 'public.orders.UPDATE', null],
  ),
  vectors: [
    {
      id: 'supabase/token',
      origin: 'token',
      source: 'a token, as it is configured: nothing is computed',
      secret: 'Bearer own-secret-0123456789abcdef',
      headers: { authorization: 'Bearer own-secret-0123456789abcdef' },
      body: '{"type":"INSERT"}',
    },
  ],
};
