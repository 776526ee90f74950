import { faultsIn, type Mutant } from './mutant.ts';

/** Faults in who may use the console, what it shows, and what an operator does. */
export const ops: readonly Mutant[] = [
  ...faultsIn(
    'engine/src/ops/access.ts',
    ['ops-worker/access'],
    [
      ['the ops Worker takes any token', '!(await sameText(given.password, token))', 'false'],
      [
        "the operator's token is compared with !==",
        '!(await sameText(given.password, token))',
        'given.password !== token',
      ],
      [
        'an ops Worker without Access and without a token lets everybody in',
        "return refused(403, 'Nobody",
        `if (!access) return { outcome: 'known', who: '', by: 'browser', isLocal: false };
  return refused(403, 'Nobody`,
      ],
      ['a token that can be guessed lets people in', 'token.length < MIN_TOKEN_LENGTH', 'token.length < 1'],
      [
        'the identity of wrangler dev counts through a tunnel, too',
        'if (isLocal && !isOnThisMachine(request, env))',
        'if (false)',
      ],
      ['the identity of wrangler dev counts although the database is elsewhere', ' && isLoopback(database)', ''],
      [
        'the identity of wrangler dev lets everybody in although there is a token',
        '!(access.aud === LOCAL_AUDIENCE && token !== undefined)',
        'true',
      ],
      [
        'a sign-in to another application of Cloudflare Access counts',
        'if (audience !== undefined && access.aud !== audience)',
        'if (false)',
      ],
      [
        'a browser may act without saying from which site',
        "return by === 'bearer' || site !== null || origin !== null;",
        'return true;',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/ops/app.tsx',
    ['ops-worker/access'],
    [['a page of another site can act', 'if (isChange && !isFromOurPages(', 'if (false && !isFromOurPages(']],
  ),
  ...faultsIn(
    'engine/src/db/actions.ts',
    ['db/actions'],
    [
      ['an operator changes other events than those shown', `coalesce(expected = \${expected}, true)`, 'true'],
      [
        'a retried effect still waits',
        `\${effectColumn.dueAt} = \${now},
        \${effectColumn.notBefore} = null`,
        `\${effectColumn.dueAt} = \${now}`,
      ],
      [
        'a retried effect has no attempts left',
        `\${effectColumn.status} = 'pending', \${effectColumn.attempts} = 0,`,
        `\${effectColumn.status} = 'pending',`,
      ],
      [
        'a retry of all that is parked puts back what was discarded',
        "return wanted === 'pending' ? isWaiting : isParked;",
        `return wanted === 'pending' ? isWaiting : sql\`(\${isParked} or \${isDiscarded})\`;`,
      ],
      ['a retry takes events back that their handler ignored', ` and \${events.completions} = 0)`, ')'],
      [
        'a rerun deletes the effects of all sources',
        `and (\${effects.source}, \${effects.eventId}) = (target.source, target.event_id)`,
        `and \${effects.eventId} = target.event_id`,
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/ops/pages/list.tsx',
    ['ops-worker/pages'],
    [
      [
        'a list that is filtered again loses its action',
        "'effect_status', 'since']",
        "'effect_status', 'since', 'action_at']",
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/ops/pages/bulk.tsx',
    ['ops-worker/pages'],
    [
      [
        'an answer to a question forgets a field of the filter',
        'action={bulkPath(filter)}',
        'action={bulkPath({ ...filter, until: undefined })}',
      ],
    ],
  ),
  ...faultsIn(
    'engine/cli/ops/api.ts',
    ['ops/ops'],
    [['the token of this machine is sent to any ops Worker', 'local ? readDevVars()', 'true ? readDevVars()']],
  ),
  ...faultsIn(
    'engine/src/db/views.ts',
    ['db/views'],
    [
      [
        'a page leaves out the events that have the time of the last one it looked at',
        '>= coalesce(look."end"',
        '> coalesce(look."end"',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/db/filter.ts',
    ['db/views', 'pure/round-trips'],
    [
      [
        'a link of the console loses the end of its span of time',
        'value === undefined ? []',
        "value === undefined || name === 'until' ? []",
      ],
      ['a filter includes its end', `\${events.receivedAt} < \${at(until)}`, `\${events.receivedAt} <= \${at(until)}`],
      [
        'a filter excludes its beginning',
        `\${events.receivedAt} >= \${at(since)}`,
        `\${events.receivedAt} > \${at(since)}`,
      ],
    ],
  ),
];
