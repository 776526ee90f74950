import { parseArgs } from 'node:util';
import { sources } from '../src/app/sources.ts';
import type { Source } from '../src/kit/index.ts';
import { type Provider, providers } from '../src/providers/index.ts';
import { secretName } from '../src/receiver/secrets.ts';
import { readDevVars, requireVar, signingKeyName } from './local/dev-vars.ts';
import { hasPair, madeUpKeys } from './local/keys.ts';
import { samples } from './local/samples.ts';
import { sampleOf, sign } from './local/sign.ts';
import { UserError } from './local/user-error.ts';

const USAGE = `npm run send -- <source> [type] [--times 1] [--concurrency 1] [--id ID] [--body JSON] [--url URL] [--provider NAME]
                            [--curl]
npm run send -- --list

Sends a correctly signed sample delivery to a running receiver. --times sends the same event again and again,
--curl prints the delivery as a curl command instead.
--provider says whose delivery it is, where src/app/sources.ts doesn't name the source yet.
Sources: ${Object.keys(sources).join(', ')}`;

export default async function main(): Promise<void> {
  const { values, positionals } = readArgs();
  const [name, type] = positionals;
  if (values.list) return list();
  if (values.help || !name) return void console.log(USAGE);

  const provider = providerOf(name, values.provider);
  const sample = sampleOf(provider);
  const id = values.id ?? sample.id();
  const url = new URL(`/webhooks/${name}`, baseUrl(values.url));
  const { headers, body, query } = sign(provider, keyOf(name, provider), {
    id,
    type: type ?? sample.types[0],
    now: new Date(),
    body: values.body,
    url: named(name)?.url ?? url.href,
  });
  for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);

  if (values.curl) return void console.log(asCurl(url, headers, body));

  const deliver = async () => {
    const response = await fetch(url, { method: 'POST', headers, body }).catch(() => {
      throw new UserError(`nobody answers at ${url.origin}: start the receiver with npm run dev`);
    });
    console.log(`${response.status} ${await response.text()}`);
    return response.ok;
  };
  console.log(`POST ${url.origin}${url.pathname} ${id}`);
  const [times, concurrency] = [count(values.times, 'times'), count(values.concurrency, 'concurrency')];
  let ok = true;
  for (let sent = 0; sent < times; sent += concurrency) {
    const answers = await Promise.all(Array.from({ length: Math.min(concurrency, times - sent) }, deliver));
    ok &&= answers.every(Boolean);
  }
  if (!ok) process.exitCode = 1;
}

function asCurl(url: URL, headers: Record<string, string>, body: string): string {
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const lines = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  return ['curl -i', ...lines, `--data-binary ${quoted(body)}`, quoted(url.href)].join(' \\\n  ');
}

function named(name: string): Source | undefined {
  return Object.entries(sources).find(([key]) => key === name)?.[1];
}

function providerOf(name: string, provider: string | undefined): Provider {
  const source = named(name)?.provider;
  const asked = provider ?? (source ? source.name : name);
  const found = asked === source?.name ? source : Object.entries(providers).find(([key]) => key === asked)?.[1];
  if (found) return found;
  throw new UserError(
    provider === undefined
      ? `there is no source ${name}; there are ${Object.keys(sources).join(', ')} (and with --provider any of --list)`
      : `there is no provider ${provider}: npm run send -- --list shows them`,
  );
}

/** What the provider signs with. A source that isn't there yet has none, and its delivery shows what one looks like. */
function keyOf(name: string, provider: Provider): string {
  const pair = !('token' in provider.scheme) && hasPair(provider.scheme);
  const variable = pair ? signingKeyName(name) : secretName(name);
  if (named(name)) {
    const vars = readDevVars();
    const foreign = pair && !vars[variable] && (process.env[secretName(name)] ?? vars[secretName(name)]);
    if (!foreign) return requireVar(variable, vars);
    throw new UserError(
      `${variable} is not set: a sample takes the private key to the public one in ${secretName(name)}`,
    );
  }
  const set = process.env[variable] ?? readDevVars()[variable];
  if (!set) console.log(`${variable} is not set, and ${name} is not in src/app/sources.ts: signed with a made-up key`);
  return set || madeUpKeys(provider).signingKey;
}

function list(): void {
  const width = Math.max(...Object.keys(providers).map((name) => name.length));
  for (const name of Object.keys(providers)) {
    console.log(`${name.padEnd(width)}  ${samples[name]?.types.join(', ')}`);
  }
}

function baseUrl(url = `http://localhost:${process.env.PORT ?? 8787}`): URL {
  if (!URL.canParse(url)) throw new UserError('--url takes an address such as http://localhost:8787');
  return new URL(url);
}

function readArgs() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        times: { type: 'string', default: '1' },
        concurrency: { type: 'string', default: '1' },
        id: { type: 'string' },
        body: { type: 'string' },
        url: { type: 'string' },
        curl: { type: 'boolean', default: false },
        provider: { type: 'string' },
        list: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new UserError(error instanceof Error ? error.message : String(error));
  }
}

function count(text: string, name: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new UserError(`--${name} takes a whole number from 1`);
  return value;
}
