/** For receivers of tests: a claim may take long, so that a slow machine doesn't decide which deliveries are forwarded. */
export const SLOW_MACHINE = { claimTimeoutMs: 30_000 };
