import { readFileSync } from 'node:fs';
import { DatabaseError } from '../src/db/errors.ts';
import type { Source } from '../src/kit/index.ts';
import { quoted } from '../src/ops/words.ts';
import { type Provider, providers } from '../src/providers/index.ts';
import { secretName } from '../src/receiver/secrets.ts';
import { covers } from '../src/shared/event-types.ts';
import { isLoopback } from '../src/shared/loopback.ts';
import { ownDatabase, readDevVars, requireVar, signingKeyName } from './config/dev-vars.ts';
import { judgeSecret } from './config/secret-form.ts';
import { loadSamples, loadSources, type Sources } from './lib/app.ts';
import { readArguments, wholeNumber } from './lib/arguments.ts';
import { localAddress, remedyAt } from './lib/processes.ts';
import { UserError } from './lib/user-error.ts';
import { eventsIn, makeDelivery, type SignedDelivery } from './samples/delivery.ts';
import { sampleOf } from './samples/samples.ts';
import { hasPair, madeUpKeys } from './samples/sign.ts';
import { type SampleTenant, sampleTenant } from './samples/tenants.ts';
import { readTrial, type Trial } from './try-live/trial.ts';

const usage = (
  sources: Sources,
) => `npm run send -- <source> [type] [--times 1] [--concurrency 1] [--id ID] [--body JSON | --body @FILE] [--tenant NAME] [--url URL] [--live] [--curl]
npm run send -- --list

Sends a correctly signed sample delivery to the receiver of npm run dev. Without a type it sends the first one that the
source is subscribed to. src/samples.ts may have a body for it. For a source that you don't have yet, name its provider.
  --times      sends the same delivery again and again
  --tenant     of a source with tenants: whose delivery it is. On this machine, the tenant is made if it is not there
  --live       sends to the receiver that npm run try-live has deployed
  --curl       prints the delivery as a curl command instead
  --list       shows all providers and the types of their samples
Sources: ${Object.keys(sources).join(', ') || 'none yet'}`;

export default async function main(): Promise<void> {
  const sources = await loadSources();
  const { values, positionals } = readArgs(sources);
  const [name, type] = positionals;
  if (values.list) return list();
  if (!name) return void console.log(usage(sources));

  const trial = values.live ? readTrial() : undefined;
  if (trial && !trial.receiver) throw new UserError('nothing is live: npm run try-live deploys it');
  const configured = sources[name];
  const source: Source = configured ?? { provider: providerOf(name, sources), types: [] };
  const tenant = await tenantOf(name, source, values.tenant, values.url, trial);
  const delivery = makeDelivery({
    name,
    source,
    key: tenant?.key ?? (await signingKeyOf(name, source.provider, configured !== undefined, trial?.secrets)),
    segment: tenant?.segment,
    samples: (await loadSamples()).samples,
    receiver: trial?.receiver ?? receiverUrl(values.url),
    type,
    id: values.id,
    body: textOf(values.body),
  });
  if (values.curl) return void console.log(asCurl(delivery));

  const events = await eventsIn(source, delivery, tenant?.tenant);
  const { origin } = new URL(delivery.url);
  console.log(`POST ${origin}/webhooks/${name}${tenant ? `/${tenant.segment}` : ''}`);
  for (const event of events) console.log(`event ${event.eventId}, type ${event.type ?? 'none'}`);
  if (type && events.length > 0 && !events.some((event) => event.type === type))
    console.log(`this is not the type ${type} that you asked for: the body contradicts it`);
  const unknown = events.find((event) => configured && ![source.types].flat().some((one) => covers(one, event.type)));
  if (unknown)
    console.log(
      `${unknown.type ?? 'no type'} is not in the types of ${name}: the event is stored, and ignored if no handler takes it`,
    );
  if (events.length === 0) console.log('the body holds no event: write a sample in src/samples.ts, or use --body');
  const times = wholeNumber('times', values.times);
  const concurrency = wholeNumber('concurrency', values.concurrency);
  let ok = true;
  for (let sent = 0; sent < times; sent += concurrency) {
    const size = Math.min(concurrency, times - sent);
    const answers = await Promise.all(Array.from({ length: size }, () => deliver(delivery)));
    ok &&= answers.every(Boolean);
  }
  if (!ok) process.exitCode = 1;
}

async function deliver({ url, headers, body }: SignedDelivery): Promise<boolean> {
  const response = await fetch(url, { method: 'POST', headers, body }).catch(() => {
    const { origin } = new URL(url);
    throw new UserError(`no receiver answers at ${origin}: ${remedyAt(origin)}`);
  });
  console.log(`${response.status} ${await response.text()}`);
  return response.ok;
}

function asCurl({ url, headers, body }: SignedDelivery): string {
  const lines = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  return ['curl -i', ...lines, `--data-binary ${quoted(body)}`, quoted(url)].join(' \\\n  ');
}

function providerOf(name: string, sources: Sources): Provider {
  if (Object.hasOwn(providers, name)) return providers[name] as Provider;
  const names = Object.keys(sources).join(', ') || 'none yet';
  throw new UserError(
    `there is no source ${name} in src/sources.ts (sources: ${names}), and no provider of that name (--list)`,
  );
}

/** The key that the provider signs with. For a source that isn't configured yet, a random one that shows the form. */
async function signingKeyOf(
  name: string,
  provider: Provider,
  isConfigured: boolean,
  ofTrial?: Trial['secrets'],
): Promise<string> {
  const pair = !('token' in provider.scheme) && hasPair(provider.scheme);
  const variable = pair ? signingKeyName(name) : secretName(name);
  if (ofTrial?.[variable]) return ofTrial[variable];
  if (ofTrial) throw new UserError(`${name} has no secret there yet: npm run try-live deploys it with one`);
  const vars = readDevVars();
  const set = process.env[variable] ?? vars[variable];
  if (!set && !isConfigured) {
    console.log(`${name} is not in src/sources.ts and ${variable} is not set: signing with a random key`);
    return madeUpKeys(provider).signingKey;
  }
  if (!set && pair && (process.env[secretName(name)] ?? vars[secretName(name)])) {
    throw new UserError(
      `${variable} is not set: signing needs the private key of the public key in ${secretName(name)}`,
    );
  }
  const key = requireVar(variable, vars);
  const finding = pair ? undefined : await judgeSecret(variable, key, provider);
  if (finding?.outcome === 'wrong') throw new UserError(finding.sentence);
  return key;
}

/** Tenants of a deployed receiver are made with npm run ops: their secrets are not here. */
async function tenantOf(
  name: string,
  source: Source,
  tenant: string | undefined,
  url: string | undefined,
  trial: Trial | undefined,
): Promise<SampleTenant | undefined> {
  if (tenant === undefined && !source.tenants) return undefined;
  if (!source.tenants) throw new UserError(`${name} has no tenants in src/sources.ts`);
  if (tenant === undefined) throw new UserError(`${name} has tenants: say which one sends, as in --tenant acme`);
  if (trial?.database)
    return sampleTenant({ name, source, tenant, databaseUrl: trial.database.url, secrets: trial.secrets });
  if (!isLoopback(new URL(receiverUrl(url)).hostname)) {
    throw new UserError('--tenant is for the receiver on this machine, which has the tenants of the local database');
  }
  const secrets = readDevVars();
  const databaseUrl = ownDatabase(requireVar('DATABASE_URL', secrets)).href;
  return sampleTenant({ name, source, tenant, databaseUrl, secrets }).catch((error) => {
    throw DatabaseError.isFromDatabase(error) ? new UserError(DatabaseError.fromThrown(error).message) : error;
  });
}

function list(): void {
  const width = Math.max(...Object.keys(providers).map((name) => name.length));
  for (const [name, provider] of Object.entries(providers)) {
    console.log(`${name.padEnd(width)}  ${sampleOf(provider).types.join(', ')}`);
  }
}

function receiverUrl(url = localAddress()): string {
  if (!URL.canParse(url)) throw new UserError('--url takes an address such as http://localhost:8787');
  return url;
}

function textOf(body: string | undefined): string | undefined {
  if (!body?.startsWith('@')) return body;
  try {
    return readFileSync(body.slice(1), 'utf8');
  } catch {
    throw new UserError(`--body ${body}: there is no such file`);
  }
}

function readArgs(sources: Sources) {
  return readArguments({
    usage: usage(sources),
    words: 2,
    options: {
      times: { type: 'string', default: '1' },
      concurrency: { type: 'string', default: '1' },
      id: { type: 'string' },
      tenant: { type: 'string' },
      body: { type: 'string' },
      url: { type: 'string' },
      live: { type: 'boolean', default: false },
      curl: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  });
}
