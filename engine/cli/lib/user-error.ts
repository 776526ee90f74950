/** An error that the user can fix. Only its message is printed; it says what is wrong and what to do. */
export class UserError extends Error {
  override readonly name = 'UserError';
  /** The command's exit code. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
