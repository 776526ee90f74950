import { type Pair, type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

/** The events that repeat their bodies, with what shows that a body is theirs. */
const REPEATING: Readonly<Record<string, object>> = {
  workflow_dispatch: { workflow: '.github/workflows/hello.yaml' },
  repository_dispatch: { branch: 'master' },
  membership: { scope: 'team' },
  organization: { membership: { user: { login: 'hacktocat' } } },
  org_block: { blocked_user: { login: 'hacktocat' } },
};

const fromRepeating = (make: (event: string, body: object) => [what: string, pair: Pair]) =>
  Object.fromEntries(Object.entries(REPEATING).map(([event, body]) => make(event, body)));

export const proof: Proof = {
  sdk: { sdk: '@octokit/webhooks-methods', signs: true },
  facts: {
    read: '2026-11-20',
    from: 'docs.github.com/en/webhooks',
    signature: said('hmac-sha256 hex at header:x-hub-signature-256#sha256', 'octokit/webhooks-methods.js'),
    ...HMAC_BODY,
    id: 'x-github-delivery',
    isIdSigned: false,
    replayKey: said(
      'the body, unless x-github-event is workflow_dispatch and workflow, or x-github-event is repository_dispatch and branch, or x-github-event is membership and scope, or x-github-event is organization and membership.user.login, or x-github-event is org_block and blocked_user.login',
      'octokit/webhooks payload-schemas/api.github.com/{workflow_dispatch,repository_dispatch}/event.schema.json, payload-examples/api.github.com/{membership,organization,org_block,github_app_authorization}',
    ),
    type: 'x-github-event + action / x-github-event',
    limit: 10,
    retries: 0,
    largest: 25_600,
    whyLower: 'a Worker has 128 MB for all deliveries at once, and holds each body several times',
    ends: 'there are no retries',
    byHand: 'for three days, on the page of the webhook and by API, with the same id',
    same: 'X-GitHub-Delivery. Every webhook that gets the event has the same',
    limits: [
      'A second `github_app_authorization` of one person has the same body, with nothing that shows its type, so it is parked. So is an event of `label`, `member`, `star` or `team` that is done again while nothing else in the repository or the team has changed.',
      'If you never receive bodies of 5 MiB, set `maxBytes` lower, because they need much memory.',
    ],
  },
  accepts: { bytes: 5 * 1024 * 1024 },
  pairs: {
    source:
      'octokit/webhooks payload-examples workflow_dispatch, repository_dispatch, membership, organization, org_block, github_app_authorization',
    type: 'workflow_dispatch',
    body: { inputs: null, ref: 'refs/heads/master', workflow: '.github/workflows/hello.yaml' },
    events: [['msg_one', 'workflow_dispatch', null]],
    apart: {
      'a workflow that is started twice with the same inputs': { id: 'two' },
      ...fromRepeating((event, body) => [
        `two equal ${event}`,
        { body, events: [['msg_one', event, null]], both: { type: event }, id: 'two' },
      ]),
      'two equal actions': {
        body: { action: 'added', scope: 'team', member: { login: 'Codertocat' }, team: { slug: 'github' } },
        events: [['msg_one', 'membership.added', null]],
        both: { type: 'membership' },
        id: 'two',
      },
    },
    same: {
      ...fromRepeating((event) => [
        `a captured body of a push, sent as ${event}`,
        {
          body: { ref: 'refs/heads/main' },
          events: [['msg_one', event, null]],
          both: { type: event },
          id: 'two',
          outcome: 'parked',
        },
      ]),
      ...fromRepeating((event, body) => [
        `a captured body with what ${event} has, of another event`,
        { body, events: [['msg_one', 'push', null]], both: { type: 'push' }, id: 'two', outcome: 'parked' },
      ]),
      'a second revoked authorization of one person': {
        body: { action: 'revoked', sender: { login: 'octocat' } },
        events: [['msg_one', 'github_app_authorization.revoked', null]],
        both: { type: 'github_app_authorization' },
        id: 'two',
        outcome: 'parked',
      },
      'a captured body under another id': {
        body: { ref: 'refs/heads/main', before: 'a', after: 'b' },
        events: [['msg_one', 'push', null]],
        both: { type: 'push' },
        id: 'two',
        outcome: 'parked',
      },
    },
  },
  vectors: [
    {
      id: 'github/docs-hello-world',
      origin: 'provider-docs',
      source: 'github.com/github/docs content/webhooks/using-webhooks/validating-webhook-deliveries.md',
      note: 'body is not JSON',
      secret: "It's a Secret to Everybody",
      headers: { 'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17' },
      body: 'Hello, World!',
    },
  ],
};
