import { existsSync } from 'node:fs';

/** Debian's Chromium, then the Chrome of GitHub's machines and of a Mac. */
const PROGRAMS = [
  process.env.CHROMIUM ?? '',
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The browser for the tests of the console, if this machine has one. */
export const chromiumPath = PROGRAMS.find((path) => existsSync(path));

/** What a developer without one is told. */
export const NO_CHROMIUM = 'no Chromium here: apt-get install chromium, or CHROMIUM=/path/to/it npm test';
