import type { Child } from 'hono/jsx';
import { counted } from '../../shared/counts.ts';
import { parseJson } from '../../shared/json.ts';
import type { ShownEvent } from '../api.ts';
import { quoted } from '../words.ts';
import { Code, eventPath, Facts, Text, visible } from './parts.tsx';

/**
 * A browser displays this many characters easily. Longer JSON isn't parsed, because parsed JSON may take a hundred
 * times its size in memory.
 */
export const MAX_SHOWN = 100_000;

/** The body, or its beginning. The script adds a button that copies all of it. */
export function Body({ event }: { event: ShownEvent }) {
  const { body } = event;
  if (body === null) {
    return (
      <p class="empty">
        The body has been deleted. Bodies of finished events are kept for a few days (BODY_DAYS of the consumer).
      </p>
    );
  }
  const shown = beginningOf(body);
  const raw = eventPath(event).replace('/ops/event?', '/ops/event/body?');
  return (
    <>
      <p class="tools" id="body-tools">
        <a href={raw}>Raw body</a> <span class="quiet">{counted(event.body_length ?? 0, 'character')}</span>
      </p>
      {/* tabindex makes it scrollable with the keyboard. */}
      <section class="body" aria-label="Body" tabindex={0}>
        <pre id="body" data-raw={raw}>
          {visible(shown)}
        </pre>
      </section>
      {Math.max(shown.length, body.length) >= MAX_SHOWN && (
        <p class="quiet">This is the beginning. See the raw body for the rest.</p>
      )}
    </>
  );
}

/** Where to find the event in the API, on the command line and in the log. */
export function Elsewhere({ event }: { event: ShownEvent }) {
  const { source, event_id, headers } = event;
  const api = `/ops/api/events/${encodeURIComponent(source)}/${encodeURIComponent(event_id)}`;
  const rows: [Child, Child][] = Object.entries(headers ?? {}).map(([name, value]) => [
    <Code value={name} />,
    <Text value={value} />,
  ]);
  return (
    <>
      {rows.length > 0 && (
        <details>
          <summary>Headers</summary>
          <Facts rows={rows} />
        </details>
      )}
      <details>
        <summary>Deliveries, log and API</summary>
        <Facts
          rows={[
            [
              'Its deliveries',
              <>
                are in the receiver's log: <Code value={`step = "delivery" and event_id = "${event_id}"`} />
              </>,
            ],
            ['Its work', <Code value={`(step = "completion" or step = "effect") and event_id = "${event_id}"`} />],
            ['API', <a href={api}>{visible(api)}</a>],
            ['Command', <Code value={`npm run ops -- show ${source} ${quoted(event_id)}`} />],
          ]}
        />
      </details>
    </>
  );
}

/**
 * The beginning of a body. JSON is indented token by token, because parsing and rewriting it would round long numbers
 * and lose repeated keys. Only the shown part is processed.
 */
export function beginningOf(body: string): string {
  const isJson = body.length > MAX_SHOWN ? /^\s*[{[]/.test(body) : parseJson(body).outcome === 'parsed';
  const beginning = body.slice(0, MAX_SHOWN);
  return isJson ? prettyJson(beginning).slice(0, MAX_SHOWN) : beginning;
}

/** Deeper levels are not indented further. Otherwise JSON that consists of brackets would show only indents. */
const MAX_DEPTH = 20;

/** Also works for a beginning whose last token is cut off. */
function prettyJson(text: string): string {
  let depth = 0;
  const line = () => `\n${'  '.repeat(Math.max(0, Math.min(depth, MAX_DEPTH)))}`;
  const tokens = text.match(/"(?:[^"\\]+|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/gs) ?? [];
  const pretty = tokens.map((token, index) => {
    if (token === ',') return token + line();
    if (token === ':') return ': ';
    if (OPENING.test(token)) {
      depth++;
      return CLOSING.test(tokens[index + 1] ?? '') ? token : token + line();
    }
    if (!CLOSING.test(token)) return token;
    depth--;
    return OPENING.test(tokens[index - 1] ?? '') ? token : line() + token;
  });
  return pretty.join('');
}

const OPENING = /^[{[]$/;
const CLOSING = /^[}\]]$/;
