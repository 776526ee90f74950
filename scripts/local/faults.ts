/** What can go wrong between a Worker and Neon. Tests inject these on purpose. */
export type Fault =
  /** A compute that wakes up before it runs the request. */
  | { kind: 'slow'; ms: number }
  /** An error of Neon's control plane: an HTTP 500 with JSON. */
  | { kind: 'server error'; message?: string }
  /** A pooled connection was lost: an HTTP 400 with an empty code. Nothing has run. */
  | { kind: 'connection died' }
  /** Something on the way to Neon answered in its place. */
  | { kind: 'not JSON' }
  /** Everything was committed, but the answer is lost. */
  | { kind: 'reply dropped' }
  /** The connection is closed without an answer. Nothing has run. */
  | { kind: 'refused' };
