/** A receiver that waits long for Postgres: a slow machine must not decide which deliveries are claimed or forwarded. */
export const SLOW_MACHINE = { claimTimeoutMs: 30_000 };
