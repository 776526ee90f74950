import { secretName, unseal } from '../src/receiver/secrets.ts';
import { requireVar } from './config/dev-vars.ts';
import { readArguments } from './lib/arguments.ts';
import { UserError } from './lib/user-error.ts';

const USAGE = `npm run unseal -- <source> <sealed>

Decrypts a secret that a provider has sent to a source with awaitsSecret. <sealed> is the value in the receiver's log.
<SOURCE>_WEBHOOK_SECRET must still have the value that it had at that time.`;

export default async function main(): Promise<void> {
  const [source, sealed] = readArguments({ allowPositionals: true }).positionals;
  if (!source || !sealed) return void console.log(USAGE);
  const name = secretName(source);
  const secret = await unseal(sealed, requireVar(name)).catch(() => {
    throw new UserError(`the value was not encrypted with this ${name}, or it is not complete`);
  });
  console.log(secret);
}
