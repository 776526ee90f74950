// The receiver Worker. It is a Hono app of yours, so routes and middleware of your own go here, and guarding them is up to you.
//
// `claimcheck/receiver` does the work for a delivery, top to bottom in receiver/receive.ts of the package: it reads the raw bytes,
// verifies the HMAC (verify/index.ts), claims the event in Postgres (db/claim.ts), and sends a ticket (queue/tickets.ts).
import { receiver } from 'claimcheck/receiver';
import { Hono } from 'hono';
import { sources } from './sources.ts';

const app = new Hono<{ Bindings: Env }>();

app.route('/webhooks', receiver({ sources }));

export default app;
