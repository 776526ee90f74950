import { parseArgs } from 'node:util';
import { openDatabase } from '../src/db/client.ts';
import { discardParked } from '../src/db/discard.ts';
import type { EventFilter } from '../src/db/filter.ts';
import type { Operated } from '../src/db/operate.ts';
import { rerunFinished } from '../src/db/rerun.ts';
import { retryParked } from '../src/db/retry.ts';
import { requireVar } from './local/dev-vars.ts';
import { UserError } from './local/user-error.ts';

/** Kept in the event's `actions`. */
const WHO = 'npm run replay';

const USAGE = `npm run replay -- retry   [which]               parked events and effects get all their attempts back
npm run replay -- discard [which] --reason TEXT  parked events and effects are discarded
npm run replay -- rerun   [which] [--effects] --yes
                                                finished events run again: their CHANGES ARE MADE A SECOND TIME;
                                                effects are sent again only with --effects

which: --source NAME --id ID --type TYPE --since TIME --until TIME (of receipt, ISO 8601); at least one of them
Events are worked after the next sweep: within 15 minutes, within one in npm run dev.`;

export default async function main(): Promise<void> {
  const { values, positionals } = readArgs();
  const filter = readFilter(values);
  const [what] = positionals;
  if (what && Object.values(filter).every((value) => value === undefined)) {
    throw new UserError('say which events: --source, --id, --type, --since or --until');
  }
  const db = () => openDatabase(requireVar('DATABASE_URL'));
  const now = new Date();
  switch (what) {
    case 'retry': {
      const retried = await retryParked(db(), { filter, action: { at: now, who: WHO, action: 'retry' } });
      return console.log(`${counted(retried)} will be tried again`);
    }
    case 'discard':
      if (!values.reason) throw new UserError('discard takes --reason TEXT: it is all that will be left to say why');
      {
        const action = { at: now, who: WHO, action: 'discard', reason: values.reason } as const;
        return console.log(`${counted(await discardParked(db(), { filter, action }))} are discarded`);
      }
    case 'rerun': {
      if (!values.yes) {
        throw new UserError(
          'a rerun makes the changes of its events A SECOND TIME: say --yes if your handlers bear that',
        );
      }
      const action = { at: now, who: WHO, action: 'rerun' } as const;
      const rerun = await rerunFinished(db(), { filter, action, sendEffectsAgain: values.effects });
      console.log(
        `${counted(rerun)} WILL RUN THEIR CHANGES AGAIN${values.effects ? ', and ask for their effects again, with the same idempotency keys' : ''}`,
      );
      return;
    }
    default:
      console.log(USAGE);
  }
}

function counted(operated: Operated): string {
  return operated.outcome === 'changed' ? `${operated.events} events and ${operated.effects} effects` : 'no events';
}

function readFilter({ source, id, type, since, until }: Record<string, unknown>): EventFilter {
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const time = (name: string, value: unknown) => {
    const read = text(value);
    if (read !== undefined && Number.isNaN(Date.parse(read)))
      throw new UserError(`--${name} takes a time, as 2026-01-31T12:00Z`);
    return read === undefined ? undefined : new Date(read);
  };
  const [received, before] = [time('since', since), time('until', until)];
  return { source: text(source), eventId: text(id), type: text(type), since: received, until: before };
}

function readArgs() {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  try {
    return parseArgs({
      allowPositionals: true,
      options: { source: text, id: text, type: text, since: text, until: text, reason: text, effects: flag, yes: flag },
    });
  } catch (error) {
    throw new UserError(error instanceof Error ? error.message : String(error));
  }
}
