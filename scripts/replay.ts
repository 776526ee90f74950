import { openDatabase } from '../src/db/client.ts';
import { discardParked } from '../src/db/discard.ts';
import { DatabaseError } from '../src/db/errors.ts';
import type { EventFilter } from '../src/db/filter.ts';
import type { Operated } from '../src/db/operate.ts';
import { rerunFinished } from '../src/db/rerun.ts';
import { retryParked } from '../src/db/retry.ts';
import { readArguments } from './local/arguments.ts';
import { requireVar } from './local/dev-vars.ts';
import { listParked } from './local/parked.ts';
import { UserError } from './local/user-error.ts';

const USAGE = `npm run replay -- list    [which]               parked events and effects, the newest first
npm run replay -- retry   [which]               parked events and effects get all their attempts back
npm run replay -- discard [which] --reason TEXT  parked events and effects are discarded
npm run replay -- rerun   [which] [--effects] --yes
                                                finished events run again: their CHANGES ARE MADE A SECOND TIME;
                                                effects are sent again only with --effects

which: --source NAME --id ID --type TYPE --since TIME --until TIME (of receipt, ISO 8601); at least one, except for list
Events are worked after the next sweep: within 15 minutes, within one in npm run dev.`;

export default async function main(): Promise<void> {
  const { values, positionals } = readArgs();
  const [command] = positionals;
  try {
    await run(command, readFilter(values), values);
  } catch (error) {
    // The message holds neither a parameter nor the URL.
    if (error instanceof DatabaseError)
      throw new UserError(`${error.message}: check DATABASE_URL; for local data start npm run dev`);
    throw error;
  }
}

async function run(command: string | undefined, filter: EventFilter, options: Options): Promise<void> {
  const changes = ['retry', 'discard', 'rerun'].includes(command ?? '');
  if (changes && Object.values(filter).every((value) => value === undefined)) {
    throw new UserError('say which events: --source, --id, --type, --since or --until');
  }
  const db = () => openDatabase(requireVar('DATABASE_URL'));
  // Kept in the event's `actions`.
  const by = { at: new Date(), who: 'npm run replay' };
  switch (command) {
    case 'list':
      return console.log(await listParked(db(), filter));
    case 'retry': {
      const retried = await retryParked(db(), { filter, action: { ...by, action: 'retry' } });
      return console.log(`${counted(retried)} will be tried again`);
    }
    case 'discard': {
      if (!options.reason) throw new UserError('discard takes --reason TEXT: nothing else will say why');
      const action = { ...by, action: 'discard', reason: options.reason } as const;
      return console.log(`${counted(await discardParked(db(), { filter, action }))} are discarded`);
    }
    case 'rerun': {
      if (!options.yes) {
        throw new UserError(
          'a rerun makes the changes of its events A SECOND TIME: say --yes if your handlers can tolerate that',
        );
      }
      const action = { ...by, action: 'rerun' } as const;
      const rerun = await rerunFinished(db(), { filter, action, sendEffectsAgain: options.effects });
      const events = rerun.outcome === 'changed' ? rerun.events : 0;
      const effects = options.effects ? ', and send their effects again, with the same idempotency keys' : '';
      console.log(`${events} events WILL MAKE THEIR CHANGES AGAIN${effects}`);
      return;
    }
    case undefined:
      return console.log(USAGE);
    default:
      throw new UserError(`there is no command ${command}: list, retry, discard or rerun`);
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

type Options = ReturnType<typeof readArgs>['values'];

function readArgs() {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  return readArguments({
    allowPositionals: true,
    options: { source: text, id: text, type: text, since: text, until: text, reason: text, effects: flag, yes: flag },
  });
}
