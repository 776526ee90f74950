import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { OPS, useRunning, WAIT } from '../running.ts';
import { seed } from '../seed.ts';
import { COLOURS, expectAccessible, useBrowser, widthOf } from './browser.ts';
import { fillShopDay } from './shop-day.ts';
import { TOKEN } from './start.ts';

const running = useRunning({ ...OPS, secrets: { OPS_TOKEN: TOKEN } });
const browser = useBrowser();
const { sql, post, sign } = running;

const address = (path: string) => new URL(path, running.workers.url).href;

/** What somebody types when the browser asks for a name and a password. */
const ONCALL = { httpCredentials: { username: 'oncall', password: TOKEN } };

beforeEach(async () => {
  await running.empty();
  breakRates(true);
});

/** The cause of the failures: as long as the stand-in for the rate service is broken, the handler parks its events. */
function breakRates(broken: boolean): void {
  running.stack.outside.answer = ({ path }) =>
    broken && path.startsWith('/rates') ? new Response(null, { status: 503 }) : undefined;
}

const charge = (id = `evt_${randomUUID()}`) => ({
  id,
  body: JSON.stringify({
    id,
    type: 'charge.converted',
    created: 1_770_000_000,
    data: { object: { customer: 'cus_1', amount: 4200 } },
  }),
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

/** Markup that would run a script, an attribute that would end, and characters that would reorder or hide text. */
const HOSTILE = [
  `"'><img src=x onerror="window.pwned=1"><script>window.pwned=1</script>`,
  '</code></pre></bdi></main><h1>forged</h1><style>*{display:none}</style>{{7*7}}{%7*7%}&lt;b&gt;&#x3c;',
  'evt_\u202etxt.exe\u202c \u2066\u2067\u2069 \u200e\u200f\u061c zero\u200bwidth\ufeff \u2028line\u2029 \u00ad',
  'control \u0001\u0007\u0008\u001b[31m\u007f\u0085\r end',
  `javascript:window.pwned=1//%0d%0aset-cookie:x=1`,
].join(' ');
/** Characters that nobody sees. A tab is shown as space. */
const UNSEEN = /(?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

describe('somebody on call', () => {
  it('sees what failed, since when and where, opens it, and after the cause is fixed retries it and watches it', async () => {
    const { id, body } = charge();
    await deliver(body);
    await deliver(charge().body);
    await parked(2);
    const page = await browser.visit(ONCALL);
    await page.goto(address('/ops'));
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toMatch(
      /^2 events are parked, since \d\d:\d\d UTC$/,
    );
    await page.getByRole('link', { name: 'no exchange rate for EUR' }).first().click();
    await page.getByRole('link', { name: id }).click();
    await page.getByText('no exchange rate for EUR: the rate service answered 503').waitFor();
    expect(await page.locator('.body').innerText()).toContain('"customer": "cus_1"');

    breakRates(false);
    await page.getByLabel('Reason').first().fill('the rates are back');
    await page.getByRole('button', { name: 'Retry this event' }).click();
    await page.getByText('Retried 1 event.').waitFor();
    // Nobody reloads the page: its script sees the event become done, and its effect sent.
    await page.locator('#state .status.done').waitFor();
    await page.locator('table .status.sent').waitFor();
    expect(await page.getByText('retried by token (oncall): the rates are back').isVisible()).toBe(true);
    const key = running.stack.outside.requests.at(-1)?.idempotencyKey ?? 'none';
    expect(await page.locator('tbody .id').getAttribute('title')).toBe(key);
  });

  it('retries all of a kind after having seen which they are, and watches them', async () => {
    for (let n = 0; n < 2; n++) await deliver(charge().body);
    await parked(2);
    const page = await browser.visit(ONCALL);
    await page.goto(address('/ops'));
    await page.getByRole('link', { name: /^Retry 2 events/ }).click();
    expect(await page.locator('tbody').innerText()).toMatch(/^stripe\s+permanent\s+2\s+evt_/);
    await page.getByRole('button', { name: 'Retry 2 events' }).click();
    await page.getByText('Retried 2 events.').waitFor();
    // Nobody reloads the list: its script sees them fail again.
    await parked(2);
    await page.locator('tbody .status.parked').nth(1).waitFor();
    breakRates(false);
    await page.getByRole('link', { name: 'Retry parked…' }).click();
    await page.getByRole('button', { name: 'Retry 2 events' }).click();
    await page.locator('tbody .status.done').nth(1).waitFor();
  });

  it('discards an event with a reason, takes that back, and runs a finished one again', async () => {
    await deliver(charge('evt_discarded').body);
    await parked(1);
    const page = await browser.visit(ONCALL);
    const open = (id: string) => page.goto(address(`/ops/events/stripe/${id}`));
    await open('evt_discarded');
    await page.getByText('Discard this event…').click();
    await page.getByRole('button', { name: 'Discard this event', exact: true }).click();
    // The browser itself asks for the reason.
    expect(await page.locator('input:invalid').count()).toBe(1);
    await page.locator('details').getByLabel('Reason').fill('a test of the provider');
    await page.getByRole('button', { name: 'Discard this event', exact: true }).click();
    await page.locator('#state .status.ignored').waitFor();
    expect(await page.getByText('discarded by token (oncall): a test of the provider').isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Put this event back and retry it' }).click();
    await page.getByText('Retried 1 event.').waitFor();
    await parked(1);

    breakRates(false);
    await deliver(charge('evt_done').body);
    await running.quiet();
    await open('evt_done');
    await page.getByText('Run this event again…').click();
    await page.getByLabel('a second time').check();
    await page.getByLabel('Send the effects again').check();
    await page.getByRole('button', { name: 'Run this event again', exact: true }).click();
    await page.getByText('run again by token (oncall)').waitFor();
    await page.locator('#state .status.done').waitFor();
    await page.locator('table .status.sent').waitFor();
    const keys = running.stack.outside.requests.flatMap(({ idempotencyKey }) => idempotencyKey ?? []);
    expect(keys.at(-2)).toBe(keys.at(-1));
  });

  it('reads on while a page renews itself around what is open', async () => {
    const { id, body } = charge();
    await deliver(body);
    await parked(1);
    await sql(`update webhooks.events set status = 'pending', attempts = 3, max_attempts = 12, not_before = now() + interval '1 h',
      last_error = last_error || repeat(' and so on', 30)`);
    const page = await browser.visit(ONCALL);
    await page.goto(address(`/ops/events/stripe/${id}`));
    await page.getByText('Full error').click();
    // Nothing on the page has the focus now.
    await page.getByRole('heading', { level: 1 }).click();
    await sql('update webhooks.events set attempts = 4');
    await page.locator('#facts').getByText('4 of 12').waitFor();
    expect(await page.getByText('and so on').last().isVisible()).toBe(true);
    expect(await page.locator('#state').innerText()).toContain('failed 3 of 12 times');
  });

  it('can do all of it without JavaScript', async () => {
    const { id, body } = charge();
    await deliver(body);
    await parked(1);
    const page = await browser.visit({ ...ONCALL, javaScriptEnabled: false });
    await page.goto(address('/ops'));
    await page.getByRole('link', { name: 'no exchange rate for EUR' }).first().click();
    expect(await page.locator('h1').innerText()).toBe(id);
    expect(await page.locator('.keys').isVisible()).toBe(false);
    breakRates(false);
    await page.getByRole('button', { name: 'Retry this event' }).click();
    // The page loads itself again.
    await page.locator('#state .status.done').waitFor();
  });

  it('can do all of it with a keyboard', async () => {
    const { id, body } = charge();
    await deliver(charge().body);
    await deliver(body);
    await parked(2);
    const page = await browser.visit(ONCALL);
    await page.goto(address('/ops/events'));
    await page.keyboard.press('/');
    await page.keyboard.type('evt_');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=evt/);
    for (const key of ['/', 'Escape', 'j', 'Enter']) await page.keyboard.press(key);
    await page.getByRole('heading', { name: id }).waitFor();
    await page.goto(address('/ops/events?q=evt_'));
    breakRates(false);
    for (const key of ['j', 'j', 'k', 'r']) await page.keyboard.press(key);
    await page.getByText('Retried 1 event.').waitFor();
    await page.getByRole('heading', { name: id }).waitFor();
    await page.locator('#state .status.done').waitFor();
  });

  it('copies an id and a body whole', async () => {
    const { id, body } = charge();
    await deliver(body);
    await parked(1);
    const page = await browser.visit({ ...ONCALL, permissions: ['clipboard-read', 'clipboard-write'] });
    await page.goto(address('/ops/events'));
    await page.evaluate(`getSelection().selectAllChildren(document.querySelector('.event a'))`);
    const copied = () => page.evaluate('String(getSelection())');
    expect(await copied()).toBe(id);
    await page.goto(address('/ops'));
    await page.evaluate(`getSelection().selectAllChildren(document.querySelector('.problem .origin'))`);
    expect(await copied()).toBe('stripe · charge.converted · permanent');
    await page.goBack();
    await page.locator('.event a').click();
    const [stored] = await sql<{ body: string }>('select body from webhooks.bodies');
    for (const [where, wanted] of [
      ['h1', id],
      ['#body-tools', stored?.body],
    ]) {
      const button = page.locator(`${where} .copy`);
      await button.click();
      await button.filter({ hasText: 'Copied' }).waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(wanted);
    }
  });

  it('is told that Postgres is down, and sees the page as soon as it is back', async () => {
    const page = await browser.visit(ONCALL);
    await page.clock.install();
    await page.goto(address('/ops'));
    running.stack.neon.fault = () => ({ kind: 'refused' });
    try {
      const response = await page.goto(address('/ops/events?status=parked'));
      expect(response?.status()).toBe(503);
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('The database cannot be reached');
      await expectAccessible(page);
    } finally {
      running.stack.neon.fault = undefined;
    }
    await page.clock.fastForward('05');
    await page.getByRole('heading', { name: 'Parked events' }).waitFor();
  });
});

it('a page of another site cannot send a form or a request, although the browser adds the password', async () => {
  await deliver(charge('evt_csrf').body);
  await parked(1);
  const page = await browser.visit(ONCALL);
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

const query = (fields: Record<string, string>) => new URLSearchParams(fields).toString();

describe('hostile text in every field of an event', () => {
  beforeEach(async () => {
    const action = { at: '2026-01-01T00:00:00Z', who: HOSTILE, action: HOSTILE, reason: HOSTILE };
    const event = { type: HOSTILE, summary: HOSTILE };
    const failed = {
      event_id: HOSTILE,
      failure: 'schema',
      last_error: HOSTILE,
      failed_paths: ['', HOSTILE, `a.${HOSTILE}`],
    };
    await seed(
      running,
      { parked: 1, effects: { parked: 1 } },
      {
        at: new Date(),
        event: { ...event, ...failed, actions: [action] },
        effect: { name: HOSTILE, kind: `kind ${HOSTILE}`, last_error: HOSTILE },
        body: JSON.stringify({ [HOSTILE]: HOSTILE }),
      },
    );
    await sql('update webhooks.bodies set headers = $1', [JSON.stringify({ [HOSTILE]: HOSTILE })]);
    await seed(running, { done: 1 }, { at: new Date(), event });
  });

  it('runs nothing, adds nothing to any page and hides nothing on it', async () => {
    const page = await browser.visit(ONCALL);
    const errors: string[] = [];
    page.on('console', (line) => errors.push(line.text()));
    page.on('dialog', (dialog) => errors.push(dialog.message()));
    for (const [where, path] of [
      ['the overview', '/ops'],
      ['the list', '/ops/events'],
      ['the search', `/ops/events?${query({ q: HOSTILE, type: HOSTILE, source: HOSTILE })}`],
      ['the event', `/ops/event?${query({ source: 'stripe', event_id: HOSTILE })}`],
      ['an event that is not there', `/ops/event?${query({ source: HOSTILE, event_id: HOSTILE })}`],
      ['the question before an action on many', `/ops/bulk?${query({ action: 'retry', type: HOSTILE, q: HOSTILE })}`],
      ['an unknown action', `/ops/bulk?${query({ action: HOSTILE })}`],
      ['a wrong filter', `/ops/events?${query({ [HOSTILE]: HOSTILE })}`],
      ['a forged notice', `/ops/events?${query({ changed: `retry-1-1${HOSTILE}` })}`],
      ['an unknown page', `/ops/${encodeURIComponent(HOSTILE)}`],
    ] as const) {
      const response = await page.goto(address(path));
      expect(response?.status(), where).toBeLessThan(500);
      expect(await page.evaluate('window.pwned'), where).toBe(undefined);
      const count = (selector: string) => page.locator(selector).count();
      // One script and one style sheet of ours, and nothing that the text would have made.
      expect([await count('script'), await count('link[rel=stylesheet]'), await count('h1')], where).toEqual([1, 1, 1]);
      expect(
        await count('img, iframe, style, object, embed, base, [onerror], [style], a[href^="javascript:"]'),
        where,
      ).toBe(0);
      expect(await page.getByRole('heading', { level: 1 }).isVisible(), where).toBe(true);
      const text = (await page.locator('body').innerText()).replaceAll('\n', '');
      expect(UNSEEN.exec(text + (await page.title()))?.[0]?.codePointAt(0), where).toBe(undefined);
    }
    expect(errors.filter((text) => /Content Security Policy|pwned/.test(text))).toEqual([]);
  });

  it('does not stop an operator: the event can be opened from the list, and retried', async () => {
    const page = await browser.visit(ONCALL);
    await page.goto(address('/ops/events?status=parked'));
    await page.locator('tbody a').click();
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('Retried 1 event and 1 effect.').waitFor();
  });

  it('the raw body is the body as text, whatever it contains', async () => {
    const url = address(`/ops/event/body?${query({ source: 'stripe', event_id: HOSTILE })}`);
    const response = await fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect(await response.text()).toBe(JSON.stringify({ [HOSTILE]: HOSTILE }));
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('content-security-policy')).toContain('sandbox');
  });
});

it('every page fits into the window, and is accessible on a phone and a desktop, in light and dark', async () => {
  const pages = await fill();
  const page = await browser.visit(ONCALL);
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(address(path));
    for (const width of [768, 900, 1024, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await widthOf(page), `${name} at ${width} px`).toBeLessThanOrEqual(width);
    }
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await expectAccessible(page, colorScheme === 'dark' ? COLOURS : undefined);
        expect(await widthOf(page), `${name} at ${width} px`).toBeLessThanOrEqual(width);
        // A status or a time never breaks inside of a word.
        const lines = await page.evaluate<number[]>(LINES_OF_WORDS);
        expect(Math.max(1, ...lines), `${name} at ${width} px`).toBe(1);
        // Only if somebody wants new ones.
        if (process.env.SCREENSHOTS && PICTURES.includes(`${name}-${width}`)) {
          await page.screenshot({ path: `docs/images/console-${name}-${width}-${colorScheme}.png` });
        }
      }
    }
  }
});

/** In how many lines each status and each time of a table is. */
const LINES_OF_WORDS = `[...document.querySelectorAll('.status, table time')].map((one) => one.getClientRects().length)`;

/** The pages that docs/console.md and the README show. */
const PICTURES = ['overview-1440'];

/** A shop's day, and an event whose every text is as long as it can be. */
async function fill(): Promise<Record<string, string>> {
  await fillShopDay(sql);
  if (!process.env.SCREENSHOTS) {
    const long = 'x'.repeat(500);
    const event = { event_id: long, type: long, last_error: 'e'.repeat(1000), position: long };
    await seed(running, { parked: 1 }, { at: new Date(), event });
  }
  const idOf = async (condition: string) => {
    const [row] = await sql<{ id: string }>(`select event_id as id from webhooks.events where ${condition} limit 1`);
    return row?.id;
  };
  const withEffect = (status: string) =>
    idOf(`event_id in (select event_id from webhooks.effects where status = '${status}')`);
  return {
    overview: '/ops',
    events: '/ops/events?limit=12',
    parked: '/ops/events?status=parked',
    effects: '/ops/events?effect_status=parked',
    none: '/ops/events?q=nothing',
    event: `/ops/event?source=shopify&event_id=${await idOf('actions is not null')}`,
    sent: `/ops/events/shopify/${await withEffect('sent')}`,
    effect: `/ops/events/stripe/${await withEffect('parked')}`,
    schema: `/ops/events/stripe/${await idOf(`failure = 'schema'`)}`,
    pending: `/ops/events/shopify/${await idOf(`status = 'pending'`)}`,
    long: `/ops/event?source=stripe&event_id=${'x'.repeat(500)}`,
    bulk: '/ops/bulk?action=rerun&source=stripe',
    discard: '/ops/bulk?action=discard&status=parked',
    action: '/ops/events?status=parked&changed=retry-3-1',
    missing: '/ops/event?source=stripe&event_id=none',
  };
}
