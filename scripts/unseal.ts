import { unseal } from '../src/receiver/seal.ts';
import { secretName } from '../src/receiver/secrets.ts';
import { requireVar } from './local/dev-vars.ts';
import { UserError } from './local/user-error.ts';

const USAGE = `npm run unseal -- <source> <sealed>

Shows the secret that a provider handed over while the source awaited one. <sealed> is what the receiver's log shows;
<SOURCE>_WEBHOOK_SECRET must still be the one that was set while it was awaited.`;

export default async function main(): Promise<void> {
  const [source, sealed] = process.argv.slice(2);
  if (!source || !sealed) return void console.log(USAGE);
  const name = secretName(source);
  const secret = await unseal(sealed, requireVar(name)).catch(() => {
    throw new UserError(`that was not sealed with this ${name}, or not copied whole`);
  });
  console.log(secret);
}
