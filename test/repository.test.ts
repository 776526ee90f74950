import { useApp } from 'claimcheck/testing';
import { expect, it } from 'vitest';
import { repositories } from '../src/tables.ts';

const app = useApp();

it('a push writes what GitHub says now, and not what the payload says', async () => {
  const repository = { full_name: 'octo-org/.github', default_branch: 'as the payload says' };
  const event = await app.deliver('github', 'push', { repository });
  expect(event.status).toBe('done');
  expect(app.outside.requests).toMatchObject([{ method: 'GET', path: '/repos/octo-org/.github' }]);
  expect(await app.db.select().from(repositories)).toMatchObject([
    { fullName: 'octo-org/.github', defaultBranch: 'main' },
  ]);
});

it('a push to a repository that was deleted before it was fetched is done, and writes nothing', async () => {
  app.outside.answer = () => new Response(null, { status: 404 });
  const event = await app.deliver('github', 'push', { repository: { full_name: 'octo-org/gone' } });
  expect(event.status).toBe('done');
  expect(await app.db.select().from(repositories)).toEqual([]);
});

it.each([
  ['is older, is not written', '2026-07-01T11:59:59Z', 'first'],
  ['is of the same second, is written', '2026-07-01T12:00:00Z', 'second'],
])('a state that GitHub says later, but %s', async (_what, time, expected) => {
  for (const [branch, pushed_at] of [
    ['first', '2026-07-01T12:00:00Z'],
    ['second', time],
  ]) {
    app.outside.answer = () => ({ full_name: 'octo-org/a', default_branch: branch, pushed_at });
    await app.deliver('github', 'push', { after: branch, repository: { full_name: 'octo-org/a' } });
  }
  expect(await app.db.select().from(repositories)).toMatchObject([{ defaultBranch: expected }]);
});

it.each(['octo-org/..', '../admin', 'octo-org/a/b', 'octo-org/a?b', 7])(
  'a push for the repository %j is parked, and GitHub is not called',
  async (full_name) => {
    const event = await app.deliver('github', 'push', { repository: { full_name } });
    expect(event).toMatchObject({ status: 'parked', error: expect.stringContaining('repository.full_name') });
    expect(app.outside.requests).toEqual([]);
  },
);
