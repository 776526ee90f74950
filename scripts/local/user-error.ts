/** Something the person at the keyboard can mend. Its message is the one line they see: what is wrong, and what to do. */
export class UserError extends Error {
  override readonly name = 'UserError';
}
