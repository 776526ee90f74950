import { createInterface } from 'node:readline/promises';
import type * as v from 'valibot';
import type { ActionName } from '../src/db/schema.ts';
import { PauseList, ReconcileStatus, Status } from '../src/db/status.ts';
import { EventPage, ShownEvent } from '../src/ops/api.ts';
import { jsonLine } from '../src/shared/log.ts';
import { opsAddress } from './cloudflare/api.ts';
import { readArguments, wholeNumber } from './lib/arguments.ts';
import { UserError } from './lib/user-error.ts';
import { type Ask, actOnMany, actOnOne, filterOf, resultText } from './ops/action.ts';
import { connect, NOTHING_MATCHED, type OpsApi, pathOf, WRONG_USAGE } from './ops/api.ts';
import { placesOf, unsealed } from './ops/decode.ts';
import { detailsText, listLine, pauseLine, reconcileLine, statusText } from './ops/print.ts';

const USAGE = `npm run ops -- status                          sources and effects: what came in, what is pending, what is parked
npm run ops -- list [which] [--limit 50|--all] events, the newest first
npm run ops -- show SOURCE ID                  everything about one event
npm run ops -- retry   SOURCE ID | which       parked events and effects are tried at once, and all their attempts start again.
                                               With --status pending, those that wait for their next attempt
npm run ops -- discard SOURCE ID | which  --reason TEXT
                                               the handlers of parked events will not run (the console can put the events
                                               back), and parked effects are deleted and never sent
npm run ops -- rerun   SOURCE ID | which  [--effects]
                                               finished events run again: THEIR CHANGES ARE MADE A SECOND TIME;
                                               their effects are sent again only with --effects
npm run ops -- reconcile SOURCE [--since TIME] [--accept]
                                               what asking the provider has shown. With --since, everything that was sent since then is
                                               asked for at the next tick of the consumer. With --accept the key is right, although
                                               nothing that it lists is known here
npm run ops -- pause|resume|try KIND [--host HOST]
                                               effects of this kind wait until you resume them; end a pause; or try a call of a
                                               kind that is paused because calls have failed. With --host, only calls to that host
npm run ops -- position 'POSITION'             the places in your files that "position" of a log line names. Check out
                                               the deployed commit first
npm run ops -- unseal SOURCE SEALED            decrypts the secret that a provider has sent: "sealed" of the log line.
                                               <SOURCE>_WEBHOOK_SECRET must still be what it was at that time

which   --source NAME --status pending|done|ignored|parked --type TYPE --since TIME --until TIME (of receipt)
        --id ID (a list takes its beginning as well)
        --failure WHY (schema, permanent, time_limit … as the list shows it, of the event or of an effect)
        --error TEXT (with this error: ids in it may differ) --effect-status pending|parked (events with such an effect)
        TIME is 30m, 2h, 7d, today, or 2026-01-31T12:00Z. An action on many events needs at least one of these
--yes   acts without asking. A script needs it, because nobody can be asked
--json  one JSON object per line, for pipes: npm run -s ops -- list --json | jq .event_id
--url   a deployed ops Worker: --url https://ops.example.com. Without it: that of npm run dev.
--env   the deployed ops Worker of an environment, if you are logged in to Cloudflare: --env staging. --env= is the
        environment without a name
        The environment says who you are: OPS_TOKEN, or the service token of Cloudflare Access as CF_ACCESS_CLIENT_ID
        and CF_ACCESS_CLIENT_SECRET

Exit code: 0 done, 1 error, 2 wrong usage or not confirmed, 3 nothing matched`;

type Options = ReturnType<typeof readOptions>['values'];

/** The most that the API returns at a time. */
const PAGE = 500;

/** How many words a command takes. The others take two: SOURCE and ID. */
const WORDS: Readonly<Record<string, number>> = {
  status: 0,
  list: 0,
  reconcile: 1,
  pause: 1,
  resume: 1,
  try: 1,
  position: 1,
};

/** What an operator does without a browser. */
export default async function main(): Promise<void> {
  endQuietlyWithReader();
  const { values, positionals } = readOptions();
  const [command, ...rest] = positionals;
  if (command === undefined) return console.log(USAGE);
  const extra = rest[WORDS[command] ?? 2];
  if (extra !== undefined) {
    throw new UserError(`${command} doesn't take ${extra}: npm run ops shows what it takes`, WRONG_USAGE);
  }
  const { url, env } = values;
  const api = async () => connect(url ?? (env === undefined ? undefined : await opsAddress(env)));
  switch (command) {
    case 'status':
      return status(await api(), values);
    case 'list':
      return list(await api(), values);
    case 'show':
      return show(await api(), keyOf(command, rest), values);
    case 'retry':
    case 'discard':
    case 'rerun':
      return act(await api(), command, rest, values);
    case 'reconcile':
      return reconcile(await api(), rest[0], values);
    case 'pause':
    case 'resume':
    case 'try':
      return pause(await api(), command, rest[0], values);
    case 'position':
      return console.log(placesOf(rest[0]).join('\n'));
    case 'unseal':
      return console.log(await unsealed(rest));
    default:
      throw new UserError(
        `there is no command ${command}: status, list, show, retry, discard, rerun, reconcile, pause, resume, try, position or unseal`,
        WRONG_USAGE,
      );
  }
}

async function status(api: OpsApi, { json }: Options): Promise<void> {
  const answer = await api.get('/status', Status);
  console.log(json ? jsonLine(answer) : statusText(answer, new Date()));
}

async function list(api: OpsApi, options: Options): Promise<void> {
  const limit = options.all ? Number.POSITIVE_INFINITY : wholeNumber('limit', options.limit, WRONG_USAGE);
  const query = new URLSearchParams(filterOf(options, new Date()));
  let count = 0;
  let cursor: string | null = '';
  while (cursor !== null && count < limit) {
    query.set('limit', String(Math.min(PAGE, limit - count)));
    if (cursor) query.set('cursor', cursor);
    const page: v.InferOutput<typeof EventPage> = await api.get(`/events?${query}`, EventPage);
    for (const event of page.events) console.log(options.json ? jsonLine(event) : listLine(event));
    count += page.events.length;
    cursor = page.next_cursor;
  }
  if (count === 0) throw new UserError('nothing matches', NOTHING_MATCHED);
  if (cursor !== null) console.error(`there are more than these ${count}: --all lists them`);
}

async function show(api: OpsApi, [source, id]: [string, string], { json }: Options): Promise<void> {
  const event = await api.get(pathOf(source, id), ShownEvent);
  console.log(json ? jsonLine(event) : detailsText(event));
}

async function act(api: OpsApi, name: ActionName, rest: string[], options: Options): Promise<void> {
  const { reason, effects, yes, json } = options;
  if (name === 'discard' && !reason) {
    throw new UserError('discard takes --reason TEXT: nothing else will say why', WRONG_USAGE);
  }
  const filter = filterOf(options, new Date());
  const many = rest.length === 0;
  if (many && Object.keys(filter).length === 0) {
    throw new UserError(`say which events to ${name}: SOURCE ID, or a filter such as --source`, WRONG_USAGE);
  }
  if (!many && Object.keys(filter).length > 0) throw new UserError('either SOURCE ID or a filter', WRONG_USAGE);
  const action = { name, reason, effects, yes };
  const counts = many
    ? await actOnMany(api, filter, action, asker())
    : await actOnOne(api, keyOf(name, rest), action, asker());
  console.log(json ? jsonLine(counts) : resultText(action, counts));
}

async function reconcile(api: OpsApi, source: string | undefined, { since, accept, json }: Options): Promise<void> {
  if (!source) throw new UserError('reconcile takes a source: reconcile stripe', WRONG_USAGE);
  const isChange = since !== undefined || accept;
  const body = { ...filterOf({ since }, new Date()), accept };
  const row = isChange
    ? await api.post(`/reconciles/${encodeURIComponent(source)}`, body, ReconcileStatus)
    : (await api.get('/status', Status)).reconciles.find((one) => one.source === source);
  if (row === undefined)
    throw new UserError(`${source} is not reconciled: src/reconcile.ts doesn't name it`, NOTHING_MATCHED);
  console.log(json ? jsonLine(row) : reconcileLine(row, new Date()));
}

async function pause(api: OpsApi, action: string, kind: string | undefined, { host, json }: Options): Promise<void> {
  if (!kind) throw new UserError(`${action} takes a kind of effects: ${action} receipt`, WRONG_USAGE);
  const body = { action, ...(host === undefined ? {} : { host }) };
  const { pauses } = await api.post(`/pauses/${encodeURIComponent(kind)}`, body, PauseList);
  const lines = pauses.map((row) => (json ? jsonLine(row) : pauseLine(row, new Date())));
  console.log(lines.length > 0 || json ? lines.join('\n') : `${kind} is not paused`);
}

function keyOf(command: string, [source, id]: string[]): [string, string] {
  if (source && id) return [source, id];
  throw new UserError(`${command} takes a source and the id of an event: ${command} stripe evt_1`, WRONG_USAGE);
}

/** A person can be asked only if the question is seen and the answer is typed. */
function asker(): Ask {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  return async (question) => {
    const terminal = createInterface({ input: process.stdin, output: process.stderr });
    return terminal.question(question).finally(() => terminal.close());
  };
}

/** `npm run -s ops -- list --json | head -1` closes the pipe when it has seen enough. */
function endQuietlyWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
}

function readOptions() {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  return readArguments({
    usage: USAGE,
    words: 3,
    exitCode: WRONG_USAGE,
    options: {
      source: text,
      status: text,
      type: text,
      failure: text,
      error: text,
      'effect-status': text,
      id: text,
      since: text,
      until: text,
      limit: { type: 'string', default: '50' },
      all: flag,
      reason: text,
      effects: flag,
      accept: flag,
      host: text,
      yes: flag,
      json: flag,
      url: text,
      env: text,
    },
  });
}
