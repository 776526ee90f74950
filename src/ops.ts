// The ops Worker: the console, its API and the metrics, at /ops. It is optional, and lets in only whom Cloudflare Access or OPS_TOKEN
// identify. It is a Hono app of yours as well: other routes are yours to guard.
import { ops } from 'claimcheck/ops';
import { Hono } from 'hono';
import { sources } from './sources.ts';

const app = new Hono<{ Bindings: OpsEnv }>();

app.route('/ops', ops({ sources }));
app.get('/', (c) => c.redirect('/ops'));

export default app;
