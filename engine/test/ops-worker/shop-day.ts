// A day of a shop: busy and quiet sources, with the ids, types and errors that their providers and handlers really have.
type Sql = (query: string, params?: unknown[]) => Promise<object[]>;

const BODY = {
  id: 6_204_481_798_402,
  admin_graphql_api_id: 'gid://shopify/Order/6204481798402',
  created_at: '2026-03-10T09:02:41+01:00',
  currency: 'EUR',
  current_total_price: '96.50',
  financial_status: 'paid',
  customer: {
    id: 8_812_045_336_834,
    email: 'billing@example.com',
    verified_email: true,
    tags: 'newsletter, b2c',
  },
  line_items: [
    {
      id: 15_104_213_647_618,
      sku: 'MUG-BLUE',
      name: 'Mug, blue',
      quantity: 5,
      price: '14.50',
      fulfillable_quantity: 5,
    },
    {
      id: 15_104_213_680_386,
      sku: 'TEA-EG-250',
      name: 'Earl Grey, 250 g',
      quantity: 2,
      price: '12.00',
      fulfillable_quantity: 2,
    },
  ],
  shipping_lines: [{ code: 'Standard', price: '0.00', title: 'Standard (3 to 5 days)' }],
  note_attributes: [],
};

const LONG_ERROR = `TypeError: Cannot read properties of undefined (reading 'head_commit') of ${JSON.stringify(BODY)}`;

/** What is parked: how many, when the last one came, and why. */
const PARKED = [
  ['shopify', 'orders/paid', 12, 4, 'permanent', 'PermanentError: not enough stock of MUG-BLUE ×5', 'order-paid.ts:24'],
  [
    'stripe',
    'customer.subscription.trial_will_end',
    3,
    51,
    'schema',
    "SchemaError: the payload does not match the handler's schema at data.object.items.data.0.price.recurring.trial_period_days",
    null,
  ],
  ['github-org', 'workflow_run.completed', 1, 95, 'handler', LONG_ERROR.slice(0, 1000), 'workflow-run.ts:118'],
] as const;

/** Fills the tables with a day that ends now. `sql` runs a statement as the owner of the tables. */
export async function fillShopDay(sql: Sql): Promise<void> {
  // The night, twelve hours ago, is quiet, and a slow event takes seconds.
  await sql(`
    insert into webhooks.events (source, event_id, type, status, received_at, occurred_at, due_at, finished_at, attempts,
      completions, summary)
    select source, case source
        when 'github-org' then md5(n::text)::uuid::text
        when 'sesmetric' then '0100019' || substr(md5(n::text), 1, 9) || '-' || md5((-n)::text)::uuid || '-000000'
        when 'stripe' then 'evt_1Sm' || substr(md5(n::text), 1, 21)
        else md5(n::text)::uuid::text end,
      type, case when type = 'bounce' then 'ignored' else 'done' end, at, at - interval '0.4 s', at,
      at + (0.2 + power(n % 31, 2) / 300) * interval '1 s', 1, 1, '2 changes, receipt'
    from generate_series(1, 1400) n,
      lateral (select n * 7919 % 1400 as mixed) m,
      lateral (select (array['shopify', 'shopify', 'shopify', 'stripe', 'stripe', 'sesmetric', 'sesmetric', 'github-org'])[1 + mixed % 8] as source) s,
      lateral (select case source when 'shopify' then (array['orders/create', 'orders/paid', 'products/update'])[1 + mixed % 3]
        when 'stripe' then (array['charge.succeeded', 'invoice.paid'])[1 + mixed % 2]
        when 'sesmetric' then (array['delivery', 'delivery', 'bounce'])[1 + mixed % 3] else 'push' end as type) t,
      lateral (select (n + 0.5 * sin(n)) / 1401 as part) p,
      lateral (select now() - interval '90 s' - interval '1 day' * (part - 0.11 * sin(2 * pi() * part)) as at) a
    where source <> 'github-org' or mixed % 3 = 0
      and abs(extract(hour from now() - at) - 11) > 3 + sin(n)`);
  for (const [source, type, count, minutes, failure, error, place] of PARKED) {
    await sql(
      `insert into webhooks.events (source, event_id, type, status, received_at, occurred_at, due_at, finished_at, attempts,
         max_attempts, failure, last_error, position, failed_paths)
       select $1::text, case $1 when 'stripe' then 'evt_1SmP' || substr(md5(n || $1::text), 1, 20) else md5(n || $1::text)::uuid::text end,
         $2, 'parked', at, at - interval '0.4 s', at, at + interval '1.3 s', case $5 when 'handler' then 12 else 1 end, 12, $5, $6, $7, $8
       from generate_series(1, $3::int) n, lateral (select now() - ($4 + (n - 1) * 23) * interval '1 minute' as at) a`,
      [
        source,
        type,
        count,
        minutes,
        failure,
        error,
        place && `handle (src/handlers/${place})`,
        failure === 'schema' ? JSON.stringify(['data.object.items.data.0.price.recurring.trial_period_days']) : null,
      ],
    );
  }
  await sql(`
    insert into webhooks.events (source, event_id, type, status, received_at, due_at, attempts, max_attempts, failure,
      last_error, position, not_before)
    select 'shopify', md5('wait' || n)::uuid::text, 'products/update', 'pending', now() - n * interval '3 minutes',
      now() + interval '11 minutes', 6 - n, 12, 'handler', 'Error: the warehouse answered 503',
      'stockOf (src/handlers/warehouse.ts:41) < handle (src/handlers/product-updated.ts:17)',
      now() + interval '4 minutes'
    from generate_series(1, 3) n`);
  await sql(`
    insert into webhooks.events (source, event_id, type, status, received_at, due_at, finished_at, attempts, completions)
    select 'hubspot', n || '', 'contact.propertyChange', 'done', at, at, at + interval '1 s', 1, 1
    from generate_series(1, 60) n, lateral (select now() - interval '40 hours' - n * interval '1 hour' as at) a`);
  await sql(
    `insert into webhooks.bodies (source, event_id, body, headers, received_at)
     select source, event_id, $1, $2, received_at from webhooks.events`,
    [
      JSON.stringify(BODY),
      JSON.stringify({
        'content-type': 'application/json',
        'x-shopify-topic': 'orders/paid',
        'x-shopify-webhook-id': 'b54557e4-bdd9-4b37-8a5f-bf7d70bcd043',
        'x-shopify-api-version': '2026-07',
        'user-agent': 'Shopify-Captain-Hook',
      }),
    ],
  );
  await sql(`
    insert into webhooks.effects (source, event_id, name, kind, payload, status, due_at, attempts, sent_at)
    select source, event_id, 'receipt', 'receipt', '{}', 'sent', finished_at, 1, finished_at + interval '0.6 s'
    from webhooks.events where status = 'done' and type in ('orders/paid', 'invoice.paid')`);
  await sql(`
    update webhooks.effects set status = 'parked', sent_at = null, attempts = 12, max_attempts = 12, failure = 'response',
      last_error = 'PermanentError: mail.example.com answered 410', position = null
    where (source, event_id) in (
      select source, event_id from webhooks.events where type = 'invoice.paid' and status = 'done'
      order by received_at desc limit 2)`);
  await sql(`
    update webhooks.events set finished_at = received_at + interval '31 minutes 2 s', actions = jsonb_build_array(jsonb_build_object('at', received_at + interval '31 minutes',
      'who', 'token (oncall)', 'action', 'retry', 'reason', 'stock was counted again'))
    where event_id = (select event_id from webhooks.events where type = 'orders/paid' and status = 'parked'
      order by received_at limit 1)`);
}
