import { beforeAll, describe, expect, it } from 'vitest';
import { beginningOf } from '../../../src/ops/pages/body.tsx';
import { OPS, useRunning } from '../running.ts';
import { useBrowser } from './browser.ts';

const running = useRunning({ consumer: undefined, ...OPS });
const browser = useBrowser();
const { sql } = running;

const address = (path: string) => new URL(path, running.workers.url.replace('127.0.0.1', 'localhost')).href;

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

beforeAll(async () => {
  await sql(
    `insert into webhooks.events (source, event_id, type, status, received_at, due_at, finished_at, failure, last_error,
       failed_paths, summary, actions, completions)
     values ('stripe', $1, $1, 'parked', now(), now(), now(), 'schema', $1, $3, $1, $2, 0),
       ('stripe', 'done', $1, 'done', now(), now(), now(), null, null, null, $1, null, 1)`,
    [
      HOSTILE,
      JSON.stringify([{ at: '2026-01-01T00:00:00Z', who: HOSTILE, action: HOSTILE, reason: HOSTILE }]),
      JSON.stringify(['', HOSTILE, `a.${HOSTILE}`]),
    ],
  );
  await sql(
    `insert into webhooks.bodies (source, event_id, body, headers, received_at) values ('stripe', $1, $2, $3, now())`,
    [HOSTILE, JSON.stringify({ [HOSTILE]: HOSTILE }), JSON.stringify({ [HOSTILE]: HOSTILE })],
  );
  await sql(
    `insert into webhooks.effects (source, event_id, name, kind, payload, status, due_at, last_error)
     values ('stripe', $1, $1, $2, '{}', 'parked', now(), $1)`,
    [HOSTILE, `kind ${HOSTILE}`],
  );
});

const query = (fields: Record<string, string>) => new URLSearchParams(fields).toString();

describe('hostile text in every field of an event', () => {
  it.each([
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
  ])('runs nothing, adds nothing to the page and hides nothing on %s', async (_where, path) => {
    const page = await browser.visit();
    const errors: string[] = [];
    page.on('console', (line) => errors.push(line.text()));
    page.on('dialog', (dialog) => errors.push(dialog.message()));
    const response = await page.goto(address(path));
    expect(response?.status()).toBeLessThan(500);
    expect(await page.evaluate('window.pwned')).toBe(undefined);
    // One script and one style sheet of ours, and nothing that the text would have made.
    const count = (selector: string) => page.locator(selector).count();
    expect([await count('script'), await count('link[rel=stylesheet]'), await count('h1')]).toEqual([1, 1, 1]);
    expect(await count('img, iframe, style, object, embed, base, [onerror], [style]')).toBe(0);
    expect(await count('a[href^="javascript:"]')).toBe(0);
    expect(await page.getByRole('heading', { level: 1 }).isVisible()).toBe(true);
    expect(UNSEEN.exec((await page.locator('body').innerText()).replaceAll('\n', ''))?.[0]?.codePointAt(0)).toBe(
      undefined,
    );
    expect(UNSEEN.test(await page.title())).toBe(false);
    expect(errors.filter((text) => /Content Security Policy|pwned/.test(text))).toEqual([]);
    await page.context().close();
  });

  it('does not stop an operator: the event can be opened from the list, and retried', async () => {
    const page = await browser.visit();
    await page.goto(address('/ops/events?status=parked'));
    await page.locator('tbody a').click();
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('Retried 1 event and 1 effect.').waitFor();
    const [row] = await sql<{ status: string }>('select status from webhooks.events where event_id = $1', [HOSTILE]);
    expect(row?.status).toBe('pending');
  });

  it('the raw body is the body as text, whatever it contains', async () => {
    const response = await fetch(address(`/ops/event/body?${query({ source: 'stripe', event_id: HOSTILE })}`));
    expect(await response.text()).toBe(JSON.stringify({ [HOSTILE]: HOSTILE }));
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('content-security-policy')).toContain('sandbox');
  });
});

describe('the beginning of a body', () => {
  it('changes nothing but the space between tokens', () => {
    const text = '{"a":12345678901234567890,"a":[],"b":{},"c":[1.50,{"d":"x: [1, 2] \\" \\\\"}], "e" : null}';
    expect(beginningOf(text)).toBe(
      [
        '{',
        '  "a": 12345678901234567890,',
        '  "a": [],',
        '  "b": {},',
        '  "c": [',
        '    1.50,',
        '    {',
        '      "d": "x: [1, 2] \\" \\\\"',
        '    }',
        '  ],',
        '  "e": null',
        '}',
      ].join('\n'),
    );
    expect(beginningOf('not JSON')).toBe('not JSON');
    expect(beginningOf('"text"')).toBe('"text"');
  });

  it.each(['{"a":"\\', '{"a":"b', '[1.5', '{"a"}}}}}]]:', '{"a":1}\n{"b":"\\"'])(
    'loses no character of a long one that begins with %j, wherever it is cut',
    (start) => {
      for (const rest of ['x', '"', '\\', '[', '}']) {
        const body = start + rest.repeat(200_000);
        const shown = beginningOf(body).replaceAll(/\s/g, '');
        expect(shown.length).toBeGreaterThan(2000);
        expect(body.replaceAll(/\s/g, '').startsWith(shown)).toBe(true);
      }
    },
  );
});
