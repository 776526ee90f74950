import { secretName } from '../src/receiver/secrets.ts';
import { addressOf, changeSecrets, openAccount } from './cloudflare/api.ts';
import { madeUpSecrets, madeUpTenantsKey } from './config/dev-vars.ts';
import { judgeSecret, TENANTS_KEY } from './config/secret-form.ts';
import { readConfigs, type WorkerConfig } from './config/worker-config.ts';
import { loadHandlers, loadSources } from './lib/app.ts';
import { readArguments } from './lib/arguments.ts';
import { UserError } from './lib/user-error.ts';
import { workerAt } from './setup/account.ts';
import { firstDelivery } from './setup/smoke.ts';
import { pageOf, Terminal } from './setup/terminal.ts';

const USAGE = `npm run secret -- rotate <source> [--env <name>]
npm run secret -- rotate <source> --finish [--env <name>]
npm run secret -- rotate TENANTS_KEY [--finish] [--env <name>]

Gives a source a new secret without refusing any delivery: the receiver accepts both secrets until --finish removes the old
one. It asks for both and shows neither. In a script, it reads two lines: the current secret and the new one.
TENANTS_KEY is a secret of receiver and ops. A tenant needs the old one until it has a new address and a new secret (docs/tenants.md).`;

export default async function main(): Promise<void> {
  const { values, positionals } = readArguments({
    usage: USAGE,
    words: 2,
    options: { env: { type: 'string', default: '' }, finish: { type: 'boolean', default: false } },
  });
  const [command, name = ''] = positionals;
  if (command !== 'rotate') throw new UserError(USAGE);
  const sources = await loadSources();
  const { receiver, ops } = readConfigs(values.env);
  const again = `npm run secret -- rotate ${name}${values.env && ` --env ${values.env}`}`;
  if (name === TENANTS_KEY) return rotateTenantsKey([receiver, ...(ops ? [ops] : [])], values.finish, again);
  const source = Object.hasOwn(sources, name) ? sources[name] : undefined;
  if (!source) throw new UserError(`there is no source ${name}: ${Object.keys(sources).join(', ')}`);
  if (source.tenants) throw new UserError(`${name} has tenants: npm run ops -- tenants rotate ${name} <tenant>`);
  const current = secretName(name);
  const previous = `${current}_PREVIOUS`;

  const account = await openAccount();
  const has = async (secret: string) => (await workerAt(account, receiver.name))?.secrets.includes(secret) ?? false;
  if (!(await has(current))) throw new UserError(`${receiver.name} has no ${current} yet: npm run setup sets it`);

  if (values.finish) {
    if (!(await has(previous))) return console.log(`${name} has no previous secret, so there is nothing to finish`);
    await changeSecrets(account, receiver, { [previous]: null });
    return console.log(`done: ${name} accepts only its current secret`);
  }
  if (await has(previous)) {
    return console.log(
      `${name} already has two secrets and accepts both. Once its provider signs with the new one and the receiver's log no longer says "signed_with":"previous", run: ${again} --finish`,
    );
  }

  const terminal = new Terminal({ asks: true });
  const old = await terminal.askHidden(`the current secret of ${name} (not shown while you type)`);
  const wanted = await terminal.askHidden(`its new secret (not shown; press Enter to generate one)`);
  terminal.close();
  const made = wanted === '' ? madeUpSecrets({ [name]: source })[current] : undefined;
  const next = made ?? wanted;
  if (old === next) throw new UserError('the new secret is the same as the old one');
  for (const [what, secret] of Object.entries({ 'the current secret': old, 'the new secret': next })) {
    const finding = await judgeSecret(what, secret, source.provider);
    if (finding.outcome === 'wrong') throw new UserError(`${finding.sentence}: nothing was changed`);
    if (finding.outcome === 'suspicious' && secret === next) console.log(finding.sentence);
  }
  // Try the current secret first. If it were mistyped, all deliveries would be refused until the provider has the new
  // one.
  const handlers = await loadHandlers();
  const address = await addressOf(account, receiver);
  const trial = address
    ? await firstDelivery({ sources, handlers, keys: { [name]: old }, receiver: address })
    : undefined;
  const tried =
    trial && (await fetch(trial.delivery.url, { method: 'POST', ...trial.delivery }).catch(() => undefined));
  if (tried?.status === 401) {
    throw new UserError(
      `the receiver refuses a delivery signed with the current secret that you typed: nothing was changed`,
    );
  }
  // Check again, because somebody else may have rotated the secret meanwhile, and their new secret would be lost.
  if (await has(previous))
    throw new UserError(`somebody else has just rotated the secret of ${name}: nothing was changed`);
  // Print the secret before it is set. If the command fails later, it exists nowhere else.
  if (made) console.log(`made up, and shown only now: ${made}`);
  await changeSecrets(account, receiver, { [previous]: old, [current]: next });
  console.log(`done: ${name} accepts both${tried?.ok ? '' : ' (the old one could not be tried: send a delivery)'}
1  enter the new secret at ${pageOf(source.provider) || 'the sender'}
2  wait until the receiver's log no longer says "signed_with":"previous" and the provider's retries are over
3  ${again} --finish`);
}

/** The receiver comes first: it must know the key before ops makes a tenant with it. */
async function rotateTenantsKey(workers: readonly WorkerConfig[], isFinish: boolean, again: string): Promise<void> {
  const previous = `${TENANTS_KEY}_PREVIOUS`;
  const account = await openAccount();
  const states = await Promise.all(
    workers.map(async ({ name }) => ({ name, has: (await workerAt(account, name))?.secrets ?? [] })),
  );
  const without = states.find(({ has }) => !has.includes(TENANTS_KEY));
  if (without) throw new UserError(`${without.name} has no ${TENANTS_KEY} yet: npm run setup sets it`);
  const change = async (secrets: Readonly<Record<string, string | null>>) => {
    for (const config of workers) await changeSecrets(account, config, secrets);
  };
  if (isFinish) {
    await change({ [previous]: null });
    return console.log('done: only the current key counts');
  }
  if (states.every(({ has }) => has.includes(previous))) {
    return console.log(
      `there are two keys already, and both count. When npm run ops -- tenants list shows no tenant with the previous key any more: ${again} --finish`,
    );
  }
  const terminal = new Terminal({ asks: true });
  const old = await terminal.askHidden(`the ${TENANTS_KEY} in use now (what you type is not shown)`);
  const wanted = await terminal.askHidden('the new one (not shown; Enter makes one up)');
  terminal.close();
  const next = wanted || madeUpTenantsKey();
  if (old === next) throw new UserError('the new key is the old one');
  for (const [name, key] of [
    [previous, old],
    [TENANTS_KEY, next],
  ] as const) {
    const finding = await judgeSecret(name, key);
    if (finding.outcome === 'wrong') throw new UserError(`${finding.sentence}: nothing was changed`);
  }
  // Before it is needed: if this ends in the middle, nobody else has it.
  if (!wanted) console.log(`made up, and shown only now: ${next}`);
  await change({ [previous]: old, [TENANTS_KEY]: next });
  console.log(`done: both keys count
1  npm run ops -- tenants list <source>: if it shows a tenant with an unknown key, the old one was mistyped. Put it again, as ${previous}
2  npm run ops -- tenants reseal; rotate the tenants whose secret is derived, and give all of them their new addresses
3  ${again} --finish`);
}
