import { currentState, defineHandler } from 'claimcheck';
import { sql } from 'drizzle-orm';
import * as v from 'valibot';
import { repositories } from '../tables.ts';

// It becomes part of a URL, so it must not contain anything that leads to another path.
const FullName = v.pipe(v.string(), v.regex(/^[\w-]+\/(?!\.\.?$)[\w.-]+$/));
const Push = v.object({ repository: v.object({ full_name: FullName }) });
const Repository = v.object({ full_name: v.string(), default_branch: v.string(), pushed_at: v.string() });

/** A push only says that something has changed, so the handler fetches the current state from GitHub. */
export const pushed = defineHandler({
  schema: Push,
  async handle({ data }, tools) {
    const { db, env } = tools;
    const url = `${env.GITHUB_API_URL}/repos/${data.repository.full_name}`;
    const repository = await currentState(tools, url, Repository);
    if (repository === 'gone') return [];
    const { full_name, default_branch, pushed_at } = repository;
    const row = { defaultBranch: default_branch, pushedAt: new Date(pushed_at) };
    return [
      db
        .insert(repositories)
        .values({ fullName: full_name, ...row })
        .onConflictDoUpdate({
          target: repositories.fullName,
          set: row,
          // Another event may have fetched a newer state. GitHub's times are in seconds, so `>=`.
          setWhere: sql`excluded.pushed_at >= ${repositories.pushedAt}`,
        }),
    ];
  },
});
