import { text } from 'node:stream/consumers';
import type * as v from 'valibot';
import { Resealed, TenantChange, TenantPage, TenantSecret } from '../../src/ops/tenants.ts';
import { counted } from '../../src/shared/counts.ts';
import { jsonLine } from '../../src/shared/log.ts';
import { UserError } from '../lib/user-error.ts';
import { Terminal } from '../setup/terminal.ts';
import { type Ask, confirm } from './action.ts';
import { MAX_PAGE, NOTHING_MATCHED, type OpsApi, WRONG_USAGE } from './api.ts';
import { printable, tenantLine } from './print.ts';

/** What the operator has typed. */
interface TenantOptions {
  /** The sender has made the secret. */
  readonly stored: boolean;
  readonly yes: boolean;
  readonly json: boolean;
  /** How many a list shows. */
  readonly limit: number;
}

/** `npm run ops -- tenants …`: makes, changes and lists the tenants of a source. */
export async function runTenants(
  api: OpsApi,
  [command, source, tenant]: readonly string[],
  options: TenantOptions,
  ask: Ask,
): Promise<void> {
  const { stored, yes, json } = options;
  const say = (answer: object, words: string) => console.log(json ? jsonLine(answer) : words);
  switch (command) {
    case 'list':
      return list(api, nameIn(command, source), options);
    case 'reseal': {
      const done = await api.post('/tenants/reseal', {}, Resealed);
      const lost = done.lost > 0 ? `. No key opens ${done.lost}: rotate those that tenants list shows as unknown` : '';
      return say(done, `${counted(done.resealed, 'stored secret')} sealed with the current TENANTS_KEY${lost}`);
    }
    case 'add':
    case 'rotate': {
      const path = pathOf(command, source, tenant);
      const secret = stored ? { secret: await secretOfSender() } : {};
      const made = await (command === 'add'
        ? api.put(path, secret, TenantSecret)
        : api.post(`${path}/rotate`, secret, TenantSecret));
      const lines = [
        `address  ${printable(made.address)}`,
        made.secret && `secret   ${made.secret} (shown only now)`,
        command === 'rotate' && `both secrets count until: npm run ops -- tenants finish ${source} ${tenant}`,
      ];
      return say(made, lines.filter(Boolean).join('\n'));
    }
    case 'finish': {
      const path = pathOf(command, source, tenant);
      return say(await api.post(`${path}/finish`, {}, TenantChange), 'done: only its current secret counts');
    }
    case 'disable': {
      const path = pathOf(command, source, tenant);
      await confirm(`disable ${tenant}: its secret never counts again`, { name: command, yes }, ask);
      return say(await api.delete(path, TenantChange), 'done: within a minute, its deliveries are answered 404');
    }
    case 'erase': {
      const path = pathOf(command, source, tenant);
      await confirm(`disable ${tenant}, and delete what its events hold`, { name: command, yes }, ask);
      const words =
        'done: it is disabled, and the consumer erases its events within half an hour (tenants list says when)';
      return say(await api.post(`${path}/erase`, {}, TenantChange), words);
    }
    default:
      throw new UserError('tenants takes list, add, rotate, finish, disable, erase or reseal', WRONG_USAGE);
  }
}

async function list(api: OpsApi, source: string, { json, limit }: TenantOptions): Promise<void> {
  let count = 0;
  let cursor: string | null = '';
  while (cursor !== null && count < limit) {
    const query = new URLSearchParams({ cursor, limit: String(Math.min(MAX_PAGE, limit - count)) });
    const page: v.InferOutput<typeof TenantPage> = await api.get(`/tenants/${source}?${query}`, TenantPage);
    for (const one of page.tenants) console.log(json ? jsonLine(one) : tenantLine(one, new Date()));
    count += page.tenants.length;
    cursor = page.next_cursor;
  }
  if (count === 0) throw new UserError('this source has no tenants yet', NOTHING_MATCHED);
  if (cursor !== null) console.error(`there are more than these ${count}: --all lists them`);
}

function pathOf(command: string, source: string | undefined, tenant: string | undefined): string {
  if (source && tenant) return `/tenants/${encodeURIComponent(source)}/${encodeURIComponent(tenant)}`;
  throw new UserError(`tenants ${command} takes a source and a tenant: tenants ${command} shops acme`, WRONG_USAGE);
}

function nameIn(command: string, source: string | undefined): string {
  if (source) return encodeURIComponent(source);
  throw new UserError(`tenants ${command} takes a source: tenants ${command} shops`, WRONG_USAGE);
}

/** Never an argument: other users of the machine see those, and the shell keeps them. */
async function secretOfSender(): Promise<string> {
  const terminal = new Terminal({ asks: true });
  const secret = process.stdin.isTTY
    ? await terminal
        .askHidden('the secret that the sender has made (what you type is not shown)')
        .finally(() => terminal.close())
    : (await text(process.stdin)).trim();
  if (secret !== '') return secret;
  throw new UserError('--stored reads a secret from the standard input, and it is empty', WRONG_USAGE);
}
