import type { ActionName } from '../../db/schema.ts';
import type { EventFilter } from '../../db/views.ts';
import { fieldsOf, MAX_REASON_LENGTH } from '../input.ts';
import { Layout, type PageContext } from './layout.tsx';
import { Code, counted, Facts, listPath } from './parts.tsx';

interface BulkProps extends PageContext {
  readonly action: ActionName;
  readonly filter: EventFilter;
  readonly matching: number;
  /** Why the last try did not happen. */
  readonly refused?: string | undefined;
}

const VERBS: Readonly<Record<ActionName, string>> = { retry: 'Retry', discard: 'Discard', rerun: 'Run again:' };

/** Asks back before an action on many events. What is sent holds the number that the operator saw. */
export function Bulk({ action, filter, matching, refused, ...context }: BulkProps) {
  const fields = Object.entries(fieldsOf(filter));
  const question = `${VERBS[action]} ${counted(matching, 'event')}`;
  return (
    <Layout {...context} title={question}>
      <h1>{question}?</h1>
      {refused && (
        <p class="banner bad" role="alert">
          {refused}
        </p>
      )}
      <p>{fields.length === 0 ? 'All events, without a filter.' : 'These are all events that match:'}</p>
      <Facts
        rows={fields.map(([name, value]) => [
          name === 'q' ? 'event id' : name.replace('_', ' '),
          <Code value={value} />,
        ])}
      />
      {matching === 0 ? (
        <p class="empty">
          There is nothing to do. <a href={listPath(filter)}>Back to the list</a>
        </p>
      ) : (
        <form class="confirm" method="post" action={`/ops/bulk?${new URLSearchParams(fieldsOf(filter))}`}>
          <input type="hidden" name="action" value={action} />
          <input type="hidden" name="expected" value={matching} />
          <ActionFields action={action} />
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

/** What an operator has to say for an action. */
export function ActionFields({ action }: { action: ActionName }) {
  if (action !== 'rerun') {
    return (
      <label>
        Reason{action === 'retry' ? ' (may be empty)' : ''}, which is kept with the event
        <input name="reason" required={action === 'discard'} maxlength={MAX_REASON_LENGTH} autocomplete="off" />
      </label>
    );
  }
  return (
    <>
      <label class="check">
        <input type="checkbox" name="understood" value="yes" required />
        <span>
          The handler runs again, and its changes are made <strong>a second time</strong>
        </span>
      </label>
      <label class="check">
        <input type="checkbox" name="effects" value="yes" />
        <span>Send its effects again as well, with the same idempotency keys</span>
      </label>
    </>
  );
}
