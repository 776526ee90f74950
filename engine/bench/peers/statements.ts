// The changes of the handler in workers/consumer.ts, as handwritten SQL.

export const UPSERT = `
  insert into bench.invoices (id, customer, amount) values ($1, $2, $3) on conflict (id) do update set amount = $3`;

export const INCREMENT = `
  insert into bench.balances (customer, balance) values ($1, $2)
  on conflict (customer) do update set balance = balances.balance + excluded.balance`;
