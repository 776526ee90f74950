import { parseArgs } from 'node:util';
import { sources } from '../src/app/sources.ts';
import { secretName } from '../src/receiver/secrets.ts';
import { requireVar } from './local/dev-vars.ts';
import { sampleOf, sign } from './local/sign.ts';
import { UserError } from './local/user-error.ts';

const USAGE = `npm run send -- <source> [type] [--times 1] [--concurrency 1] [--id ID] [--body JSON] [--url URL] [--curl]

Sends a correctly signed sample delivery to a running receiver. --times sends the same event again and again,
--curl prints the delivery as a curl command instead.
Sources: ${Object.keys(sources).join(', ')}`;

export default async function main(): Promise<void> {
  const { values, positionals } = readArgs();
  const [name, type] = positionals;
  if (values.help || !name) return void console.log(USAGE);
  const source = Object.entries(sources).find(([key]) => key === name)?.[1];
  if (!source) throw new UserError(`there is no source ${name}; there are ${Object.keys(sources).join(', ')}`);

  const { provider } = source;
  const sample = sampleOf(provider);
  const id = values.id ?? sample.id();
  const secret = requireVar(secretName(name));
  const { headers, body } = sign(provider, secret, {
    id,
    type: type ?? sample.types[0],
    now: new Date(),
    body: values.body,
  });
  const url = new URL(`/webhooks/${name}`, values.url ?? `http://localhost:${process.env.PORT ?? 8787}`);

  if (values.curl) return void console.log(asCurl(url, headers, body));

  const deliver = async () => {
    const response = await fetch(url, { method: 'POST', headers, body }).catch(() => {
      throw new UserError(`nobody answers at ${url.origin}: start the receiver with npm run dev`);
    });
    console.log(`${response.status} ${await response.text()}`);
    return response.ok;
  };
  console.log(`POST ${url.href} ${id}`);
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
