import { existsSync } from 'node:fs';

/** Chromium on Debian, then Chrome on GitHub's machines and on a Mac. */
const PROGRAMS = [
  process.env.CHROMIUM ?? '',
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The browser for the console's tests, if this machine has one. */
export const chromiumPath = PROGRAMS.find((path) => existsSync(path));

/** The hint for a developer without one. */
export const NO_CHROMIUM = 'no Chromium here: apt-get install chromium, or CHROMIUM=/path/to/it npm test';
