import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { CONFIGS } from '../../cli/config/worker-config.ts';

// Small files that tools and people expect at the root, and that nothing else would notice when they are out of date.

const read = (path: string) => readFileSync(path, 'utf8');
const { devDependencies } = JSON.parse(read('package.json'));

it.each(Object.values(CONFIGS))('%s uploads source maps', (path) => {
  expect(read(path)).toMatch(/^upload_source_maps = true$/m);
});

it('.nvmrc is the Node that comes with the packages', () => {
  expect(read('.nvmrc').trim()).toBe(devDependencies.node);
});

it('wrangler is the one that the plugin of vitest brings: a second one would be a second workerd', () => {
  const plugin = JSON.parse(read('engine/workshop/node_modules/@cloudflare/vitest-plugin/package.json'));
  expect(devDependencies.wrangler).toBe(plugin.dependencies.wrangler);
});

it.each(globSync('{.github,engine/workshop/init/fork/.github}/workflows/*.yml'))(
  '%s pins every action by its commit, and gives no secret to a pull request of a fork',
  (path) => {
    const text = read(path).replaceAll(/#.*$/gm, (comment) => (/^# v\d/.test(comment) ? comment : ''));
    for (const [, action] of text.matchAll(/uses: (.+)/g)) {
      expect(action).toMatch(/^(\.\/\.github\/workflows\/\w+\.yml|[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/);
    }
    expect(text).toMatch(/^permissions:( \{\}|\n {2}contents: read)$/m);
    // These events run with the secrets, whoever has caused them.
    expect(text).not.toMatch(/pull_request_target|workflow_run|issue_comment/);
    // With this one a fork's pull request gets none, and would only fail.
    const jobs = text.split(/^ {2}(?=[\w-]+:$)/m).slice(1);
    const own =
      /if: .*(github.event.pull_request.head.repo.full_name == github.repository|github.event_name == 'push')$/m;
    const unguarded = jobs.filter(
      (job) => /^ {2}pull_request:/m.test(text) && job.includes('secrets.') && !own.test(job),
    );
    expect(unguarded).toEqual([]);
  },
);
