import { expect, it } from 'vitest';
import { repositories } from '../../src/app/tables.ts';
import { useApp } from '../kit.ts';

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

it.each(['octo-org/..', '../admin', 'octo-org/a/b', 'octo-org/a?b', 7])(
  'a push for the repository %j is parked, and GitHub is not called',
  async (full_name) => {
    const event = await app.deliver('github', 'push', { repository: { full_name } });
    expect(event).toMatchObject({ status: 'parked', error: expect.stringContaining('repository.full_name') });
    expect(app.outside.requests).toEqual([]);
  },
);
