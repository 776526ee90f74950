/** What can go wrong between a Worker and Neon. Tests inject these on purpose. */
export type Fault =
  /** A compute that wakes up before it runs the request. */
  | { kind: 'slow'; ms: number }
  /** An error of Neon's control plane: an HTTP 500 with JSON. */
  | { kind: 'server error'; message?: string }
  /** A pooled connection was lost: an HTTP 400 with an empty code. Nothing has run. */
  | { kind: 'connection died' }
  /** Any other error, as Neon's proxy answers it. One that is not Postgres's has an empty code. Nothing has run. */
  | { kind: 'error'; status: number; code: string; message: string }
  /** Something on the way to Neon answered in its place. */
  | { kind: 'not JSON'; status?: number }
  /** Everything was committed, but the answer is lost. */
  | { kind: 'reply dropped' }
  /** The connection is closed without an answer. Nothing has run. */
  | { kind: 'refused' };
