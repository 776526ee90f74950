import { UserError } from '../lib/user-error.ts';
import type { Existing } from './account.ts';
import type { Terminal } from './terminal.ts';

/** Where Cloudflare can keep the messages of a queue. */
const ANYWHERE = 'any';
const JURISDICTIONS = ['eu', 'us', 'fedramp', ANYWHERE];

/** London is not in the EU. */
const REGIONS: Readonly<Record<string, RegExp>> = {
  eu: /^aws:eu-(?!west-2)|^azure:g(wc|ermany)/,
  us: /^aws:us-|^azure:\w+us\d?$/,
};

/**
 * For the queues that are missing, because it can't be changed later. By default it is that of the other queues, or else the one in
 * which the database is. `undefined`: anywhere.
 */
export async function chooseJurisdiction(
  terminal: Terminal,
  { queues }: Existing,
  region: string,
): Promise<string | undefined> {
  const near = Object.keys(REGIONS).find((one) => REGIONS[one]?.test(region)) ?? ANYWHERE;
  const usual = process.env.QUEUES_JURISDICTION || (queues[0] ? (queues[0].jurisdiction ?? ANYWHERE) : near);
  const question = `where the queues keep messages, among them bodies of deliveries for up to 14 days: ${JURISDICTIONS.join(', ')} [${usual}]`;
  const answer = (await terminal.ask(question)) || usual;
  if (!JURISDICTIONS.includes(answer))
    throw new UserError(`a queue can't be kept in ${answer}: ${JURISDICTIONS.join(', ')}`);
  return answer === ANYWHERE ? undefined : answer;
}
