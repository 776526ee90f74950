/**
 * The content of event number `n`. Customers are in random order, because shared rows would cost nothing if all batches
 * changed them in the same order. The two primes scatter 100,000 numbers.
 */
export function invoiceOf(n: number, customers: number) {
  return { id: `in_${n}`, customer: `cus_${((n * 7919) % 100_003) % customers}`, amount: (n % 1000) + 1 };
}

/** The same in SQL, as an event's body with about the size of a small Stripe event. */
export function bodySql(customers: string): string {
  return `json_build_object('id', 'evt_' || n, 'type', 'invoice.paid', 'padding', repeat('x', 700), 'data',
    json_build_object('object', json_build_object('id', 'in_' || n, 'customer', 'cus_' || n * 7919 % 100003 % ${customers},
                                                  'amount_paid', n % 1000 + 1)))`;
}

/** The sum of the amounts of the events 0 to `events - 1`. */
export function totalOf(events: number): number {
  return Array.from({ length: events }, (_, n) => invoiceOf(n, 1).amount).reduce((sum, amount) => sum + amount, 0);
}
