/** Throw it if another try can't help. The event is parked at once. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
}

/** Throw it to be tried again after this many seconds (from 0 up, at most a day), and not earlier. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly seconds: number;

  constructor(seconds: number, message = `asked to be tried again in ${seconds} s`) {
    super(message);
    this.seconds = seconds;
  }
}
