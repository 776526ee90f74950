import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { OPS, useRunning, WAIT } from '../running.ts';
import { expectAccessible, useBrowser, widthOf } from './browser.ts';
import { TOKEN } from './start.ts';

const running = useRunning({
  consumer: 'test/engine/ops-worker/wrangler.consumer.toml',
  ...OPS,
  secrets: { OPS_TOKEN: TOKEN },
});
const browser = useBrowser();
const { sql, post, sign } = running;

const address = (path: string) => new URL(path, running.workers.url).href;

/** What somebody types when the browser asks for a name and a password. */
const ADA = { httpCredentials: { username: 'Ada', password: TOKEN } };

beforeEach(async () => {
  await sql('truncate webhooks.events cascade');
  breakRates(true);
});

/** The cause of the failures: as long as the stand-in for the rate service is broken, the handler parks its events. */
function breakRates(broken: boolean): void {
  running.stack.outside.answer = ({ path }) =>
    broken && path.startsWith('/rates') ? new Response(null, { status: 503 }) : undefined;
}

const charge = (id = `evt_${randomUUID()}`, object: object = { customer: 'cus_1', amount: 4200, currency: 'eur' }) => ({
  id,
  body: JSON.stringify({ id, type: 'charge.succeeded', created: 1_770_000_000, data: { object } }),
});

async function deliver(body: string): Promise<void> {
  expect((await post('stripe', await sign('stripe', body))).status).toBe(200);
}

async function parked(count: number): Promise<void> {
  await vi.waitFor(async () => {
    const rows = await sql(`select 1 from webhooks.events where status = 'parked'`);
    expect(rows).toHaveLength(count);
  }, WAIT);
}

describe('somebody on call', () => {
  it('sees the parked events, opens one, and after the cause is fixed retries it and watches it become done', async () => {
    const { id, body } = charge();
    await deliver(body);
    await deliver(charge().body);
    await parked(2);
    const page = await browser.visit(ADA);
    await page.goto(address('/ops'));
    expect(await page.getByText('2 events parked').isVisible()).toBe(true);
    await page.getByRole('link', { name: 'See the parked events' }).click();
    await page.getByRole('link', { name: id }).click();
    await page.getByText('no exchange rate for EUR: the rate service answered 503').waitFor();
    expect(await page.locator('.body').innerText()).toContain('"customer": "cus_1"');

    breakRates(false);
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('Retried 1 event.').waitFor();
    // Nobody reloads the page: its script sees the event become done.
    await page.locator('h1 .status.done').waitFor();
    expect(await page.getByText('retried by token (Ada)').isVisible()).toBe(true);
    await vi.waitFor(async () => {
      await page.reload();
      expect(await page.locator('table .status').innerText()).toBe('sent');
    }, WAIT);
    const key = running.stack.outside.requests.at(-1)?.idempotencyKey ?? 'none';
    expect(await page.locator('td.key').innerText()).toContain(key);
  });

  it('retries all events that match a filter, after the count was asked back', async () => {
    for (let n = 0; n < 3; n++) await deliver(charge().body);
    await parked(3);
    await sql(`update webhooks.events set received_at = received_at - interval '3 hours' where event_id = (
      select event_id from webhooks.events limit 1)`);
    const page = await browser.visit(ADA);
    await page.goto(address('/ops/events?status=parked'));
    await page.getByRole('link', { name: 'last hour' }).click();
    await page.getByRole('link', { name: 'Retry all that match' }).click();
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Retry 2 events?');

    // Somebody else retries one in the meantime: the number is not the one that was seen.
    await sql(`update webhooks.events set status = 'done' where event_id = (
      select event_id from webhooks.events order by received_at desc limit 1)`);
    await page.getByRole('button', { name: 'Retry 2 events' }).click();
    await page.getByText('Nothing was changed: the filter matches 1 event now, not 2.').waitFor();
    breakRates(false);
    await page.getByRole('button', { name: 'Retry 1 event' }).click();
    await page.getByText('Retried 1 event.').waitFor();
    await parked(1);
    await vi.waitFor(async () => {
      expect(await sql(`select 1 from webhooks.events where status = 'done'`)).toHaveLength(2);
    }, WAIT);
  });

  it('discards an event with a reason, and runs a finished one again', async () => {
    await deliver(charge('evt_discarded').body);
    await parked(1);
    const page = await browser.visit(ADA);
    await page.goto(address('/ops/event?source=stripe&event_id=evt_discarded'));
    await page.getByText('Discard…').click();
    await page.getByRole('button', { name: 'Discard', exact: true }).click();
    // The browser itself asks for the reason.
    expect(await page.locator('input:invalid').count()).toBe(1);
    await page.getByLabel('Reason').fill('a test of the provider');
    await page.getByRole('button', { name: 'Discard', exact: true }).click();
    await page.locator('h1 .status.ignored').waitFor();
    expect(await page.getByText('discarded by token (Ada): a test of the provider').isVisible()).toBe(true);

    breakRates(false);
    await deliver(charge('evt_done').body);
    await vi.waitFor(async () => {
      expect(await sql(`select 1 from webhooks.events where status = 'done'`)).toHaveLength(1);
    }, WAIT);
    await page.goto(address('/ops/event?source=stripe&event_id=evt_done'));
    await page.getByText('Run again…').click();
    await page.getByLabel('a second time').check();
    await page.getByRole('button', { name: 'Run again', exact: true }).click();
    await page.getByText('run again by token (Ada)').waitFor();
    await page.locator('h1 .status.done').waitFor();
  });

  it('sees which field of a payload did not match the schema', async () => {
    await deliver(charge('evt_schema', { customer: 'cus_1', amount: 'a lot' }).body);
    await parked(1);
    const page = await browser.visit(ADA);
    await page.goto(address('/ops/event?source=stripe&event_id=evt_schema'));
    expect(await page.locator('.banner dl').innerText()).toMatch(/data\.object\.amount\s+"a lot"/);
  });

  it('can do all of it without JavaScript', async () => {
    const { id, body } = charge();
    await deliver(body);
    await parked(1);
    const page = await browser.visit({ ...ADA, javaScriptEnabled: false });
    await page.goto(address('/ops'));
    await page.getByRole('link', { name: 'See the parked events' }).click();
    await page.getByRole('link', { name: id }).click();
    breakRates(false);
    await page.getByRole('button', { name: 'Retry' }).click();
    await vi.waitFor(async () => {
      await page.reload();
      expect(await page.locator('h1 .status').innerText()).toBe('done');
    }, WAIT);
  });

  it('is told that Postgres is down, and the page works again when it is back', async () => {
    const page = await browser.visit(ADA);
    await page.goto(address('/ops'));
    running.stack.neon.fault = () => ({ kind: 'refused' });
    try {
      const response = await page.goto(address('/ops'));
      expect(response?.status()).toBe(503);
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Postgres can not be reached');
      await expectAccessible(page);
    } finally {
      running.stack.neon.fault = undefined;
    }
    await page.getByRole('link', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Sources' }).waitFor();
  });
});

describe('access by a browser', () => {
  it('every page asks for a name and a password, and a wrong one shows nothing but what is missing', async () => {
    const nobody = await browser.visit();
    for (const path of ['/ops', '/ops/events', '/ops/event?source=a&event_id=b', '/ops/bulk?action=retry']) {
      // Chromium asks for them, and says so if nobody is there to type.
      await expect(nobody.goto(address(path))).rejects.toThrow('ERR_INVALID_AUTH_CREDENTIALS');
    }
    const eve = await browser.visit({ httpCredentials: { username: 'Eve', password: `${TOKEN}x` } });
    expect((await eve.goto(address('/ops')))?.status()).toBe(401);
    expect(await eve.locator('body').innerText()).toBe('This is not the value of OPS_TOKEN.');
  });

  it('nothing is stored in the browser, and no script can read the password', async () => {
    const page = await browser.visit(ADA);
    await page.goto(address('/ops'));
    expect(await page.getByText('token (Ada)').isVisible()).toBe(true);
    expect(await page.context().cookies()).toEqual([]);
    expect(await page.evaluate('document.cookie + JSON.stringify(localStorage) + location.href')).not.toContain(TOKEN);
  });

  it('a link from another site leads to the page', async () => {
    const page = await browser.visit(ADA);
    await page.goto(address('/ops'));
    await page.route('http://chat.example/', (route) =>
      route.fulfill({ contentType: 'text/html', body: `<a href="${address('/ops/events')}">the alert</a>` }),
    );
    await page.goto('http://chat.example/');
    await page.getByText('the alert').click();
    await page.getByRole('heading', { name: 'Events' }).waitFor();
  });

  it('a page of another site can not send a form or a request, although the browser adds the password', async () => {
    await deliver(charge('evt_csrf').body);
    await parked(1);
    const page = await browser.visit(ADA);
    await page.goto(address('/ops/event?source=stripe&event_id=evt_csrf'));
    const form = `
      <form method="post" action="${address('/ops/event?source=stripe&event_id=evt_csrf')}">
        <input name="action" value="retry"><button>Win</button>
      </form>`;
    await page.route('http://evil.example/', (route) => route.fulfill({ contentType: 'text/html', body: form }));
    await page.goto('http://evil.example/');
    const api = JSON.stringify(address('/ops/api/events/stripe/evt_csrf/retry'));
    const status = await page.evaluate(
      `fetch(${api}, { method: 'POST', mode: 'no-cors', credentials: 'include' }).then((a) => a.type, () => 'blocked')`,
    );
    expect(['opaque', 'blocked']).toContain(status);
    await page.getByText('Win').click();
    await page.getByText('Nothing was changed').waitFor();
    expect(await sql('select status, actions from webhooks.events')).toEqual([{ status: 'parked', actions: null }]);
  });

  it('no other page can frame the console', async () => {
    const page = await browser.visit(ADA);
    await page.route('http://evil.example/', (route) =>
      route.fulfill({ contentType: 'text/html', body: `<iframe src="${address('/ops')}"></iframe>` }),
    );
    await page.goto('http://evil.example/');
    const [, frame] = page.frames();
    expect(frame?.url()).toBe('chrome-error://chromewebdata/');
  });
});

describe.each([
  ['375 px', 375, 812],
  ['1440 px', 1440, 900],
])('at %s', (_name, width, height) => {
  it.each(['light', 'dark'] as const)('every page is readable and accessible in %s', async (colorScheme) => {
    await fill();
    const page = await browser.visit({ ...ADA, colorScheme, viewport: { width, height } });
    for (const [name, path] of Object.entries(PAGES)) {
      await page.goto(address(path));
      await look(page, name);
    }

    async function look(shown: Page, name: string): Promise<void> {
      await expectAccessible(shown);
      expect(await widthOf(shown), name).toBeLessThanOrEqual(width);
      // Only if somebody wants new ones.
      if (!process.env.SCREENSHOTS || name !== PICTURE || width !== 1440) return;
      mkdirSync('docs/images', { recursive: true });
      await shown.screenshot({ path: `docs/images/console-${name}-${width}-${colorScheme}.png` });
    }
  });
});

/** The page that docs/console.md and the README show. */
const PICTURE = 'overview';

const PAGES = {
  overview: '/ops',
  events: '/ops/events',
  parked: '/ops/events?status=parked',
  none: '/ops/events?q=nothing',
  event: '/ops/event?source=stripe&event_id=evt_1PmNq5parked',
  bulk: '/ops/bulk?action=rerun&source=stripe',
  discard: '/ops/bulk?action=discard&status=parked',
  missing: '/ops/event?source=stripe&event_id=none',
};

/** A day that looks like one: a busy source, a quiet one, and some failures. */
async function fill(): Promise<void> {
  await sql(`
    insert into webhooks.events (source, event_id, type, status, received_at, due_at, finished_at, attempts, completions, summary)
    select case when n % 4 = 0 then 'github' else 'stripe' end, 'evt_1Pm' || substr(md5(n::text), 1, 12),
      case when n % 4 = 0 then 'push' else 'charge.succeeded' end, 'done', at, at, at + n % 7 * interval '0.3 s', 1, 1,
      '1 change, receipt'
    from generate_series(1, 400) n, lateral (
      select now() - interval '2 minutes' - (24 * power(n / 401.0, 1.5)) * interval '1 hour' as at) as received
    where n % 24 not in (5, 6)`);
  await sql(`
    insert into webhooks.events
      (source, event_id, type, status, received_at, due_at, finished_at, attempts, failure, last_error, failed_paths)
    select 'stripe', 'evt_1PmNq' || n || 'parked', 'charge.succeeded', 'parked', at, at, at + interval '3 s', 12, 'schema',
      'the payload does not match the handler''s schema at data.object.amount', '["data.object.amount"]'
    from generate_series(1, 7) n, lateral (select now() - n * interval '20 minutes' as at) as received`);
  await sql(
    `
    insert into webhooks.bodies (source, event_id, body, headers, received_at)
    select source, event_id, $1, '{"content-type": "application/json"}', received_at from webhooks.events`,
    [
      JSON.stringify({
        id: 'evt_1PmNq5parked',
        type: 'charge.succeeded',
        data: { object: { customer: 'cus_9', amount: null } },
      }),
    ],
  );
  await sql(`
    insert into webhooks.events (source, event_id, type, status, received_at, due_at, attempts, failure, last_error,
      not_before)
    values ('sesmetric', 'b7f1d3', 'bounce', 'pending', now() - interval '9 minutes', now(), 3, 'handler',
      'Error: the mail service answered 429', now() + interval '4 minutes')`);
  await sql(`
    insert into webhooks.effects (source, event_id, name, kind, payload, status, due_at, attempts, failure, last_error)
    select source, event_id, 'receipt', 'receipt', '{}', 'parked', now(), 12, 'response', 'HttpError: HTTP 410'
    from webhooks.events where event_id = 'evt_1PmNq5parked'`);
  await sql(`
    update webhooks.events set finished_at = received_at + interval '31 minutes', actions = jsonb_build_array(
      jsonb_build_object('at', received_at + interval '30 minutes', 'who', 'token (Ada)', 'action', 'retry',
        'reason', 'the schema was fixed'))
    where event_id = 'evt_1PmNq5parked'`);
}
