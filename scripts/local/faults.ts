/** What can go wrong between a Worker and Neon, to be done on purpose in tests. */
export type Fault =
  /** A compute that wakes up. */
  | { kind: 'slow'; ms: number }
  /** The control plane: an HTTP 500 with JSON. */
  | { kind: 'server error'; message?: string }
  /** A pooled connection that died: an HTTP 400 with an empty code. Nothing has run. */
  | { kind: 'connection died' }
  /** Something between us and Neon that answers in its place. */
  | { kind: 'not JSON' }
  /** Everything has been committed, and nobody is told. */
  | { kind: 'reply dropped' }
  /** Nobody there. */
  | { kind: 'refused' };
