import { appendFileSync } from 'node:fs';

const { FAULTS_FORM, FAULTS_SEED = '1', FAULTS_FIGURES } = process.env;

/** The long form takes all the time it needs. The short one is part of CI. `npm run -w engine faults` says which it is. */
export const isLong = FAULTS_FORM === 'long';

/** For everything that is chosen at random, so that a run can be repeated. Print it with what has failed. */
export const seed = Number(FAULTS_SEED);

/** One row of a section's table in engine/workshop/evidence.md. All rows of a section have the same columns. */
export function report(section: string, row: Readonly<Record<string, string | number>>): void {
  if (FAULTS_FIGURES) appendFileSync(FAULTS_FIGURES, `${JSON.stringify({ section, row })}\n`);
}
