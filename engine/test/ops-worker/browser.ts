import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { chromiumPath, NO_CHROMIUM } from '../../workshop/chromium.ts';
import { shownOnPurpose } from '../canaries/answers.ts';
import { search } from '../canaries/canaries.ts';
import { WAIT } from '../database.ts';

/** Nothing here may leave this machine. As root, Chromium runs only without its sandbox. */
const FLAGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface Browser {
  /** A new visitor, whose browser has stored nothing. */
  readonly visit: (options?: BrowserContextOptions) => Promise<Page>;
}

/** A real Chromium for the tests of one file. */
export function useBrowser(): Browser {
  let open: (options?: BrowserContextOptions) => Promise<BrowserContext>;
  let close: () => Promise<void> = async () => {};
  const executablePath = chromiumPath;
  // A developer without a browser can run all other tests. CI must run these too.
  beforeEach(({ skip }) => {
    if (!executablePath) skip(NO_CHROMIUM);
  });
  beforeAll(async () => {
    if (!executablePath && !process.env.CI) return;
    if (!executablePath) throw new Error('CI needs Chromium: .ci/run installs it');
    // Chromium writes into its home, and must not find the profile of somebody.
    const home = mkdtempSync(join(tmpdir(), 'claimcheck-chromium-'));
    const browser = await chromium.launch({
      executablePath,
      args: process.getuid?.() === 0 ? ['--no-sandbox', ...FLAGS] : FLAGS,
      env: { ...process.env, HOME: home } as Record<string, string>,
    });
    open = (options) => browser.newContext(options);
    close = async () => {
      await browser.close();
      rmSync(home, { recursive: true, force: true });
    };
  });
  afterAll(() => close());
  return {
    visit: async (options) => {
      const context = await open(options);
      // A test waits for what it expects, never for time to pass.
      context.setDefaultTimeout(WAIT.timeout);
      context.on('response', async (answer) => {
        // Without a body: a redirect, or a page that was left before it was complete.
        const text = await answer.text().catch(() => '');
        search(text, `the page ${answer.url()}`, shownOnPurpose(answer.url()));
      });
      return context.newPage();
    },
  };
}

/** The rules of axe-core about colours: nothing else differs between the light and the dark page. */
export const COLOURS = ['color-contrast', 'link-in-text-block'];

/** Fails if axe-core finds anything on the page, by all of its rules or by these. */
export async function expectAccessible(page: Page, runOnly?: readonly string[]): Promise<void> {
  // Evaluated by the browser's debugger, because the page's own policy allows no script of ours.
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(axe.source);
  const options = JSON.stringify({ resultTypes: ['violations'], runOnly });
  const { violations } = (await page.evaluate(`axe.run(${options})`)) as axe.AxeResults;
  const found = violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html, any }) => `${html} ${any[0]?.message}`).join('\n')}`,
  );
  expect(found, page.url()).toEqual([]);
}

/** The widest thing on the page. Wider than the window, it would need scrolling to the side. */
export function widthOf(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth');
}
