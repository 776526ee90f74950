// What the actions of operators do, in a few lines that need no database: actions.test.ts compares them.
import type { EventFilter } from '../../src/db/filter.ts';
import type { ActionName } from '../../src/db/schema.ts';

interface Part {
  status: string;
  failure: string | null;
  attempts: number;
  /** Whether it has failed, and waits for its next attempt. */
  waits: boolean;
}

export interface ModelEvent extends Part {
  readonly source: string;
  readonly id: string;
  readonly type: string;
  readonly hasBody: boolean;
  isCompleted: boolean;
  /** By name. */
  effects: Record<string, Part>;
  actions: ActionName[];
}

const ANEW = { status: 'pending', attempts: 0, waits: false };

/** Acts on the events, and returns how many events and effects have changed. */
export function act(all: readonly ModelEvent[], action: ActionName, filter: EventFilter, again: boolean) {
  const changed = { events: 0, effects: 0 };
  for (const event of all.filter((one) => isMeant(one, filter))) {
    const isDiscarded = event.status === 'ignored' && !event.isCompleted;
    const isStuck = (part: Part, status = '') => {
      const isParked = part.status === 'parked';
      const isWaiting = part.status === 'pending' && part.waits;
      if (action === 'discard') return isParked;
      if (filter.source && filter.q) return isParked || isWaiting || (part === event && isDiscarded);
      if (status === 'ignored') return part === event && isDiscarded;
      return status === 'pending' ? isWaiting : isParked;
    };
    if (action === 'rerun') {
      const unsent = Object.values(event.effects).filter(({ status }) => status !== 'sent');
      if (!event.isCompleted || !event.hasBody || ![event, ...unsent].some((part) => hasFailed(part, filter))) continue;
      Object.assign(event, ANEW, { isCompleted: false, failure: null }, again ? { effects: {} } : {});
      changed.events++;
    } else {
      const isEvent = isStuck(event, filter.status) && hasFailed(event, filter);
      const stuck = Object.entries(event.effects).filter(
        ([, effect]) => isStuck(effect, filter.effect_status) && hasFailed(effect, filter),
      );
      if (!isEvent && stuck.length === 0) continue;
      if (isEvent) Object.assign(event, action === 'retry' ? ANEW : { status: 'ignored' });
      for (const [name, effect] of stuck) {
        if (action === 'retry') Object.assign(effect, ANEW);
        else delete event.effects[name];
      }
      changed.events += Number(isEvent);
      changed.effects += stuck.length;
    }
    event.actions.push(action);
  }
  return changed;
}

function isMeant(event: ModelEvent, { source, q, type, status, effect_status: ofEffect }: EventFilter): boolean {
  const wanted = { source, id: q, type, status };
  const isEqual = Object.entries(wanted).every(([name, value]) => !value || Reflect.get(event, name) === value);
  return isEqual && (!ofEffect || Object.values(event.effects).some((effect) => effect.status === ofEffect));
}

function hasFailed({ failure }: Part, filter: EventFilter): boolean {
  return !filter.failure || failure === filter.failure;
}
