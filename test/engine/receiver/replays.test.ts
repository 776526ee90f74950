import { beforeEach, expect, it, vi } from 'vitest';
import { runAction } from '../../../src/db/actions.ts';
import { openDatabase } from '../../../src/db/client.ts';
import type { ActionName } from '../../../src/db/schema.ts';
import { useRunning, WAIT } from '../running.ts';

const running = useRunning();
const { post, quiet, sign, sql } = running;

const BODY = '{"action":"started","repository":{"full_name":"octo-org/sample"}}';

/** GitHub doesn't sign its ids, and says the same each time that somebody stars a repository. */
const star = async (id: string) => post('github', await sign('github', BODY, { id, type: 'watch' }));
const act = (action: ActionName, eventId: string) =>
  runAction(openDatabase(running.stack.workerUrls.ops), {
    action,
    filter: { eventId },
    reason: 'somebody sent it again',
    sendEffectsAgain: false,
    who: 'test',
    at: new Date(),
  });
const events = () =>
  sql<{ event_id: string; status: string }>(
    'select event_id, status, completions from webhooks.events order by event_id',
  );
const linesAbout = (text: string) =>
  running
    .logs()
    .split('\n')
    .filter((line) => line.includes(text));

beforeEach(() => sql('truncate webhooks.events cascade'));

it('an event of GitHub with the body of an earlier one is accepted, parked and not run', async () => {
  expect(await (await star('first')).json()).toEqual({ status: 'accepted' });
  expect(await (await star('second')).json()).toEqual({ status: 'accepted' });
  expect(await (await star('second')).json()).toEqual({ status: 'duplicate' });
  await quiet();
  expect(await events()).toEqual([
    { event_id: 'first', status: 'ignored', completions: 1 },
    { event_id: 'second', status: 'parked', completions: 0 },
  ]);
  const [line] = linesAbout('"event_id":"second"');
  expect(JSON.parse(line ?? '')).toMatchObject({ step: 'delivery', outcome: 'accepted', parked: 1 });
});

it('a suspected replay runs once a person retries it, and ends once a person discards it', async () => {
  for (const id of ['first', 'real', 'not real']) await star(id);
  await act('retry', 'real');
  await act('discard', 'not real');
  await running.workers.tick(new Date());
  await quiet();
  expect(await events()).toEqual([
    { event_id: 'first', status: 'ignored', completions: 1 },
    { event_id: 'not real', status: 'ignored', completions: 0 },
    { event_id: 'real', status: 'ignored', completions: 1 },
  ]);
});

it('a suspected replay that went through the queue while Postgres was away is parked by the consumer', async () => {
  await star('first');
  await quiet();
  running.stack.neon.fault = () => ({ kind: 'refused' });
  expect((await star('forwarded')).status).toBe(200);
  running.stack.neon.fault = undefined;
  await vi.waitFor(async () => {
    expect(await events()).toContainEqual({ event_id: 'forwarded', status: 'parked', completions: 0 });
  }, WAIT);
});

it('two events with one body are both run if their provider says that its bodies repeat', async () => {
  for (const id of ['one', 'two']) await post('awardee', await sign('awardee', '{"same":1}', { id }));
  await quiet();
  expect(await events()).toEqual([
    { event_id: 'one', status: 'ignored', completions: 1 },
    { event_id: 'two', status: 'ignored', completions: 1 },
  ]);
});

it('a workflow that is started twice with the same inputs runs twice, and no other body can be sent as such a start', async () => {
  const start = (id: string, body: string) =>
    sign('github', body, { id, type: 'workflow_dispatch' }).then((signed) => post('github', signed));
  const started = JSON.stringify({ inputs: {}, ref: 'refs/heads/main', workflow: '.github/workflows/deploy.yml' });
  for (const id of ['one', 'two']) await start(id, started);
  await star('a star');
  await start('a captured star', BODY);
  await quiet();
  const statuses = await events();
  expect(statuses.map(({ event_id, status }) => [event_id, status])).toEqual([
    ['a captured star', 'parked'],
    ['a star', 'ignored'],
    ['one', 'ignored'],
    ['two', 'ignored'],
  ]);
});
