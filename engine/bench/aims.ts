import { type Figure, type Results, valuesOf } from './results.ts';
import { overall, waitRow } from './rows.ts';

/** One figure divided by another of the same rounds, or one figure alone. */
export interface Ratio {
  readonly title: string;
  readonly of: Figure;
  readonly to?: Figure;
  readonly aim?: { readonly atLeast: number } | { readonly atMost: number };
  /** A second run of one of the two: what the ratio of equals was in these rounds. */
  readonly chance?: { readonly of: Figure; readonly to: Figure };
}

export interface MeasuredRatio {
  readonly title: string;
  readonly aim: string;
  readonly value: number;
  /** Undefined if nothing was aimed at. */
  readonly met: boolean | undefined;
  /** The ratio of equals in the same rounds was as far from 1 as this one. */
  readonly isChance: boolean;
}

const OURS = 'claimcheck';
const GITHUB = 'GitHub (replay key)';
const SENDGRID = 'SendGrid (batch of 100)';

/** All ratios that are published, by the form that measures them. */
export const RATIOS: Readonly<Record<'default' | 'long', readonly Ratio[]>> = {
  default: [
    waitToBareWorker(1),
    waitToBareWorker(5, { atMost: 1.03 }),
    waitToBareWorker(30),
    waitToBareWorker(80),
    ackToBareWorker(GITHUB, 'new events/s', 'deliveries/s'),
    ackToBareWorker(GITHUB, 'CPU', 'CPU ms per delivery', { atMost: 1.35 }),
    ackToBareWorker(SENDGRID, 'new events/s', 'deliveries/s'),
    ackToBareWorker(SENDGRID, 'CPU', 'CPU ms per delivery', { atMost: 1.8 }),
    {
      title: 'receiver bundle, gzipped, in KiB',
      of: { row: 'bundle, gzipped', variant: 'receiver', metric: 'KiB' },
      aim: { atMost: 80 },
    },
    drainTo(OURS, 'graphile-worker', { atLeast: 2.3 }),
    drainTo(OURS, 'graphile-worker, local queue', { atLeast: 1.3 }),
    drainTo(`${OURS}, SQL by hand`, 'graphile-worker', { atLeast: 2.6 }),
    drainTo(`${OURS}, SQL by hand`, 'graphile-worker, local queue', { atLeast: 1.5 }),
    drainTo(`${OURS}, after an outage`, OURS, { atLeast: 0.5 }),
    ...growing('1,000,000'),
  ],
  long: growing('10,000,000'),
};

function waitToBareWorker(ms: number, aim?: Ratio['aim']): Ratio {
  return toBareWorker(`wait for the 200, ${ms} ms from Postgres: p50`, waitRow(ms), 'p50 ms', aim);
}

function ackToBareWorker(source: string, what: string, metric: string, aim?: Ratio['aim']): Ratio {
  return toBareWorker(`ack, ${source}: ${what}`, `ack, ${source}, new events`, metric, aim);
}

function toBareWorker(title: string, row: string, metric: string, aim: Ratio['aim']): Ratio {
  const figure = (variant: string) => ({ row, variant, metric });
  return {
    title: `${title}, to the bare Worker`,
    of: figure(OURS),
    to: figure('floor'),
    chance: { of: figure('floor again'), to: figure('floor') },
    ...(aim ? { aim } : {}),
  };
}

function drainTo(of: string, to: string, aim: NonNullable<Ratio['aim']>): Ratio {
  const figure = (variant: string) => ({
    row: 'drain of 10,000 events, 10 consumers',
    variant,
    metric: 'events/s',
  });
  return {
    title: `drain: events/s of ${of}, to ${to}`,
    of: figure(of),
    to: figure(to),
    chance: { of: figure(`${OURS} again`), to: figure(OURS) },
    aim,
  };
}

function growing(size: string): Ratio[] {
  return ['claim of an event', 'completion of an event, in batches of 100'].map((what) => {
    const figure = (events: string) => ({
      row: `growth to ${size} events, ${what}`,
      variant: `${events} events`,
      metric: 'CPU ms per event in Postgres',
    });
    return {
      title: `${what}, in Postgres, with ${size} events: to 10,000 events`,
      of: figure(size),
      to: figure('10,000'),
      aim: { atMost: 1.2 },
    };
  });
}

/** Undefined if the figures have not been measured. */
export function measure(ratio: Ratio, results: Results): MeasuredRatio | undefined {
  const value = ratioOf(ratio, results);
  if (value === undefined) return undefined;
  const { title, aim, chance } = ratio;
  const equals = (chance && ratioOf(chance, results)) ?? 1;
  return {
    title,
    aim: aimOf(ratio),
    value,
    met: aim && ('atLeast' in aim ? value >= aim.atLeast : value <= aim.atMost),
    isChance: Math.max(value, 1 / value) < Math.max(equals, 1 / equals),
  };
}

function ratioOf({ of, to }: Pick<Ratio, 'of' | 'to'>, results: Results): number | undefined {
  const over = valuesOf(results, of);
  const under = to && valuesOf(results, to);
  if (!over || (to && !under)) return undefined;
  return overall(of.metric, over) / (under ? overall(of.metric, under) : 1);
}

function aimOf({ aim }: Ratio): string {
  if (!aim) return '';
  return 'atLeast' in aim ? `at least ${aim.atLeast}` : `at most ${aim.atMost}`;
}
