import { secretName } from '../src/receiver/secrets.ts';
import { addressOf, changeSecrets, openAccount } from './cloudflare/api.ts';
import { madeUpSecrets } from './config/dev-vars.ts';
import { judgeSecret } from './config/secret-form.ts';
import { readConfigs } from './config/worker-config.ts';
import { loadHandlers, loadSources } from './lib/app.ts';
import { readArguments } from './lib/arguments.ts';
import { UserError } from './lib/user-error.ts';
import { workerAt } from './setup/account.ts';
import { firstDelivery } from './setup/smoke.ts';
import { pageOf, Terminal } from './setup/terminal.ts';

const USAGE = `npm run secret -- rotate <source> [--env <name>]
npm run secret -- rotate <source> --finish [--env <name>]

Gives a source a new secret, in one step, so that no delivery is refused: the receiver accepts both until --finish takes the old
one away. It asks for both and shows neither. In a script, it reads two lines: the secret in use now, and the new one.`;

export default async function main(): Promise<void> {
  const { values, positionals } = readArguments({
    usage: USAGE,
    words: 2,
    options: { env: { type: 'string', default: '' }, finish: { type: 'boolean', default: false } },
  });
  const [command, name = ''] = positionals;
  if (command !== 'rotate') throw new UserError(USAGE);
  const sources = await loadSources();
  const source = Object.hasOwn(sources, name) ? sources[name] : undefined;
  if (!source) throw new UserError(`there is no source ${name}: ${Object.keys(sources).join(', ')}`);
  const { receiver } = readConfigs(values.env);
  const again = `npm run secret -- rotate ${name}${values.env && ` --env ${values.env}`}`;
  const current = secretName(name);
  const previous = `${current}_PREVIOUS`;

  const account = await openAccount();
  const has = async (secret: string) => (await workerAt(account, receiver.name))?.secrets.includes(secret) ?? false;
  if (!(await has(current))) throw new UserError(`${receiver.name} has no ${current} yet: npm run setup sets it`);

  if (values.finish) {
    if (!(await has(previous))) return console.log(`${name} has no previous secret: there is nothing to finish`);
    await changeSecrets(account, receiver, { [previous]: null });
    return console.log(`done: ${name} accepts only its current secret`);
  }
  if (await has(previous)) {
    return console.log(
      `${name} has two secrets already, and accepts both. When its provider signs with the new one and no line of the receiver's log says "signed_with":"previous" any more: ${again} --finish`,
    );
  }

  const terminal = new Terminal({ asks: true });
  const old = await terminal.askHidden(`the secret that ${name} signs with now (what you type is not shown)`);
  const wanted = await terminal.askHidden(`its new secret (not shown; Enter makes one up)`);
  terminal.close();
  const made = wanted === '' ? madeUpSecrets({ [name]: source })[current] : undefined;
  const next = made ?? wanted;
  if (old === next) throw new UserError('the new secret is the old one');
  for (const [what, secret] of Object.entries({ 'the secret in use now': old, 'the new secret': next })) {
    const finding = await judgeSecret(what, secret, source.provider);
    if (finding.outcome === 'wrong') throw new UserError(`${finding.sentence}: nothing was changed`);
    if (finding.outcome === 'suspicious' && secret === next) console.log(finding.sentence);
  }
  // With a mistyped one, everything that the provider sends until it has the new secret would be refused.
  const handlers = await loadHandlers();
  const address = await addressOf(account, receiver);
  const trial = address
    ? await firstDelivery({ sources, handlers, keys: { [name]: old }, receiver: address })
    : undefined;
  const tried =
    trial && (await fetch(trial.delivery.url, { method: 'POST', ...trial.delivery }).catch(() => undefined));
  if (tried?.status === 401) {
    throw new UserError(`the receiver refuses what is signed with that secret in use now: nothing was changed`);
  }
  // Somebody else may have rotated it while this one looked for the secrets, and their new one would be lost.
  if (await has(previous)) throw new UserError(`${name} has got two secrets meanwhile: nothing was changed`);
  // Before it is needed: if this ends in the middle, nobody else has it.
  if (made) console.log(`made up, and shown only now: ${made}`);
  await changeSecrets(account, receiver, { [previous]: old, [current]: next });
  console.log(`done: ${name} accepts both${tried?.ok ? '' : ' (the old one could not be tried: send a delivery)'}
1  enter the new secret at ${pageOf(source.provider) || 'the sender'}
2  wait until no line of the receiver's log says "signed_with":"previous" any more, and the provider's retries are over
3  ${again} --finish`);
}
