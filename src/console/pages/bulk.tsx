import type { EventFilter } from '../../db/filter.ts';
import type { ActionName } from '../act.ts';
import { fieldsOfFilter } from '../input.ts';
import { RerunFields } from './event.tsx';
import { FormToken, Layout, type PageContext, type Visitor } from './layout.tsx';
import { Code, counted, HiddenFields, listPath } from './parts.tsx';

export interface BulkProps extends PageContext {
  readonly visitor: Visitor;
  readonly action: ActionName;
  readonly filter: EventFilter;
  readonly matching: number;
  /** Why the last try did not happen. */
  readonly refused?: string | undefined;
}

export const VERBS: Readonly<Record<ActionName, string>> = { retry: 'Retry', discard: 'Discard', rerun: 'Run again:' };

/** Asks back before many events are changed. What is sent holds the number that the operator saw. */
export function Bulk({ action, filter, matching, refused, visitor, ...context }: BulkProps) {
  const fields = Object.entries(fieldsOfFilter(filter));
  const question = `${VERBS[action]} ${counted(matching, 'event')}`;
  return (
    <Layout {...context} visitor={visitor} title={question}>
      <h1>{question}?</h1>
      {refused && (
        <p class="banner bad" role="alert">
          {refused}
        </p>
      )}
      <p>{fields.length === 0 ? 'All events, without a filter.' : 'These are all events that match:'}</p>
      <dl class="facts">
        {fields.map(([name, value]) => (
          <>
            <dt>{name === 'q' ? 'event id' : name.replace('_', ' ')}</dt>
            <dd>
              <Code value={value} />
            </dd>
          </>
        ))}
      </dl>
      {matching === 0 ? (
        <p class="empty">
          There is nothing to do. <a href={listPath(filter)}>Back to the list</a>
        </p>
      ) : (
        <form class="confirm" method="post" action={`/ops/bulk?${new URLSearchParams(fieldsOfFilter(filter))}`}>
          <FormToken visitor={visitor} />
          <HiddenFields fields={{ action, expected: String(matching) }} />
          {action === 'rerun' ? (
            <RerunFields />
          ) : (
            <label>
              Reason{action === 'retry' ? ' (may be empty)' : ''}, which is kept with the events
              <input name="reason" required={action === 'discard'} maxlength={500} autocomplete="off" />
            </label>
          )}
          <p class="actions">
            <button type="submit" class={action === 'retry' ? 'primary' : 'danger'}>
              {question}
            </button>
            <a class="button" href={listPath(filter)}>
              Back to the list
            </a>
          </p>
        </form>
      )}
    </Layout>
  );
}
