import { randomUUID } from 'node:crypto';
import { Hono } from 'hono';

// neon.new, as these say, read on 2026-11-20: the package neon-new 0.14.0 (dist/lib/utils/create-db.js), Neon's skill
// claimable-postgres (neondatabase/agent-skills, commit 3a23361a) and its page of the REST API. Not from the live service: how it refuses
// is made up, but for 400 "Missing referrer" and "Database not found".

const DAYS_MS = 86_400_000;

interface Database {
  readonly id: string;
  readonly connection_string: string | null;
  readonly status: 'UNCLAIMED' | 'CLAIMED';
  readonly expires_at: string;
}

export class NeonNew {
  /** The owner's URLs that it has given out. */
  readonly created: string[] = [];
  private readonly databases: Database[] = [];
  private readonly app = new Hono();

  /** Makes an empty database and returns its owner's URL. */
  create: () => Promise<string>;

  constructor(create: () => Promise<string>) {
    this.create = create;
    this.app.post('/api/v1/database', async ({ req }) => {
      const { ref } = await req.json<{ ref?: string }>();
      if (!ref) return Response.json({ message: 'Missing referrer' }, { status: 400 });
      this.created.push(await this.create());
      const url = new URL(this.created.at(-1) ?? '');
      url.hostname = url.hostname.replace(/^([^.]+)/, '$1-pooler');
      const expires_at = new Date(Date.now() + 3 * DAYS_MS).toISOString();
      this.databases.push({ id: randomUUID(), connection_string: url.href, status: 'UNCLAIMED', expires_at });
      return Response.json(shown(this.databases.at(-1)));
    });
    this.app.get('/api/v1/database/:id', ({ req }) => {
      const database = this.databases.find(({ id }) => id === req.param('id'));
      if (!database) return Response.json({ message: 'Database not found' }, { status: 400 });
      return Response.json(shown(database));
    });
  }

  async answer(request: Request): Promise<Response> {
    return this.app.fetch(request);
  }

  /** Somebody has opened the claim address of the last one. The URL goes on to work, as far as anybody says. */
  claim(): void {
    const last = this.databases.pop();
    if (last) this.databases.push({ ...last, connection_string: null, status: 'CLAIMED' });
  }
}

function shown(database: Database | undefined) {
  return { ...database, neon_project_id: 'gentle-scene-06438508', claim_url: `https://neon.new/claim/${database?.id}` };
}
