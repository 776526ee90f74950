import { counted } from '../../shared/counts.ts';
import type { ShownEvent } from '../api.ts';
import { DONE, subjectText, wasText } from '../words.ts';
import { Limited, MAX_ROWS, Text, Time } from './parts.tsx';

export function Timeline({ event, now }: { event: ShownEvent; now: Date }) {
  const moments = timelineOf(event);
  return (
    <section aria-label="What happened">
      <h2>What happened</h2>
      <Limited to="last" of={moments.length} noun="moment" />
      <ol class="timeline">
        {moments.slice(-MAX_ROWS).map(({ at, what, note, style }) => (
          <li class={style}>
            <span>
              <Text value={note ? `${what}:` : what} /> {note && <Text value={note} />}
            </span>
            <Time at={at} now={now} />
          </li>
        ))}
      </ol>
    </section>
  );
}

interface Moment {
  readonly at: string;
  readonly what: string;
  /** Untrusted, because an operator wrote it. */
  readonly note?: string | undefined;
  readonly style?: string;
}

/** The history of an event, oldest first, as far as its row contains it. */
function timelineOf(event: ShownEvent): Moment[] {
  const { status, attempts, effects, actions } = event;
  const moments: Moment[] = [{ at: event.received_at, what: 'received and claimed in Postgres' }];
  if (event.occurred_at !== null)
    moments.push({ at: event.occurred_at, what: "happened, according to the sender's clock" });
  // A discard sets `finished_at` to its own time and already has its own line.
  const shown = new Set(actions.filter(({ action }) => action === 'discard').map(({ at }) => at));
  for (const one of actions) {
    const { at, who, action, reason, was } = one;
    if (was?.finished_at && !shown.has(was.finished_at)) {
      shown.add(was.finished_at);
      moments.push({ at: was.finished_at, what: wasText(was), note: was.error ?? undefined, style: was.status });
    }
    // If an event was retried while it waited, the number of its failed attempts is stored, but not their times.
    const before = was?.finished_at === null && was.attempts > 0 ? ` after ${counted(was.attempts, 'attempt')}` : '';
    const why = before && was?.error ? ` (${was.error})` : '';
    // Another version may have recorded an action that this one doesn't know.
    const what = `${subjectText(one)}${DONE[action]?.past ?? action}${before}${why} by ${who}`;
    moments.push({ at, what, note: reason ?? undefined });
  }
  if (event.finished_at !== null && !shown.has(event.finished_at)) {
    moments.push({ at: event.finished_at, what: wasText({ status, attempts }), style: status });
  }
  for (const { name, status: sent, attempts: tried, sent_at, not_before } of effects) {
    if (sent_at !== null) moments.push({ at: sent_at, what: `effect ${name} sent`, style: 'sent' });
    if (sent === 'pending' && not_before !== null) {
      const what = `effect ${name} sent${tried > 0 ? ' again' : ''} at the earliest`;
      moments.push({ at: not_before, what, style: 'future' });
    }
  }
  if (status === 'pending') {
    const what =
      attempts > 0
        ? `next attempt at the earliest (${attempts} failed so far)`
        : 'another ticket is sent if none has arrived';
    moments.push({ at: event.not_before ?? event.due_at, what, style: 'future' });
  }
  return moments.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}
