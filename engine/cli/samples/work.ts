import { type Samples, seconds, short } from './sample.ts';

/** Code, documents, incidents and tasks. */
export const work: Samples = {
  github: {
    types: ['push', 'ping'],
    body: (id) => ({ ref: 'refs/heads/main', after: id, repository: { full_name: 'octo-org/sample' } }),
  },
  gitlab: {
    types: ['push', 'issue'],
    headers: {
      'webhook-id': '{id}',
      'webhook-timestamp': '{timestamp}',
      'webhook-signature': 'v1,{signature}',
      'idempotency-key': '{id}',
      'x-gitlab-event': 'Push Hook',
    },
    body: (id, type) => ({ object_kind: type, ref: 'refs/heads/main', after: id, project: { id: 1 } }),
  },
  bitbucket: {
    types: ['repo:push'],
    body: (id) => ({ repository: { full_name: 'sample/sample' }, push: { changes: [{ new: { name: id } }] } }),
  },
  openai: {
    types: ['response.completed'],
    id: () => `wh_${short()}`,
    headers: { 'webhook-id': '{id}', 'webhook-timestamp': '{timestamp}', 'webhook-signature': 'v1,{signature}' },
    body: (id, type, now) => ({
      object: 'event',
      id: `evt_${id.slice(3)}`,
      type,
      created_at: seconds(now),
      data: { id: 'resp_sample' },
    }),
  },
  linear: {
    types: ['Issue.create', 'Issue.update'],
    body: (id, type, now) => {
      const [kind, action] = type.split('.');
      const data = { id, title: 'A sample' };
      return { type: kind, action, createdAt: now.toISOString(), data, webhookTimestamp: now.getTime() };
    },
  },
  sentry: {
    types: ['issue.created', 'issue.resolved'],
    id: short,
    headers: { 'request-id': '{id}', 'sentry-hook-resource': 'issue', 'sentry-hook-signature': '{signature}' },
    body: (id, type) => ({ action: type.split('.')[1], data: { issue: { id, title: 'A sample' } } }),
  },
  pagerduty: {
    types: ['incident.triggered', 'incident.resolved'],
    id: short,
    body: (id, type, now) => ({
      event: {
        id,
        event_type: type,
        resource_type: 'incident',
        occurred_at: now.toISOString(),
        data: { id: 'P0SAMPLE' },
      },
    }),
  },
  notion: {
    types: ['page.created', 'page.content_updated'],
    body: (id, type, now) => ({ id, timestamp: now.toISOString(), type, attempt_number: 1, entity: { type: 'page' } }),
  },
  asana: {
    types: ['task.added', 'task.changed'],
    id: short,
    body: (id, type, now) => {
      const [resource_type, action] = type.split('.');
      return { events: [{ action, created_at: now.toISOString(), resource: { gid: id, resource_type } }] };
    },
  },
  airtable: {
    types: ['changed'],
    id: short,
    body: (_id, _type, now) => ({
      base: { id: 'app0sample' },
      webhook: { id: 'ach0sample' },
      timestamp: now.toISOString(),
    }),
  },
  dropbox: {
    types: ['changed'],
    id: short,
    body: () => ({ list_folder: { accounts: ['dbid:sample'] } }),
  },
  contentful: {
    types: ['ContentManagement.Entry.publish'],
    id: short,
    headers: {
      'content-type': 'application/vnd.contentful.management.v1+json',
      'x-contentful-topic': '{type}',
      'x-contentful-idempotency-key': '{id}',
      'x-contentful-timestamp': '{timestamp}',
      'x-contentful-signed-headers': 'x-contentful-signed-headers,x-contentful-timestamp,x-contentful-topic',
      'x-contentful-signature': '{signature}',
    },
    body: (id, _type, now) => ({ sys: { id, type: 'Entry', updatedAt: now.toISOString() }, fields: {} }),
  },
  docusign: {
    types: ['envelope-completed'],
    body: (id, type, now) => ({ event: type, generatedDateTime: now.toISOString(), data: { envelopeId: id } }),
  },
  typeform: {
    types: ['form_response'],
    id: short,
    body: (id, type, now) => ({
      event_id: id,
      event_type: type,
      form_response: { form_id: 'sample', submitted_at: now.toISOString(), answers: [] },
    }),
  },
};
