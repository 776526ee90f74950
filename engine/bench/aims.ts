import { type Figure, type Results, valuesOf } from './results.ts';
import { LINE_ROW, overall, RATES, throughRow, WAITS, waitName, waitRow } from './rows.ts';

/** A figure, optionally divided by another one of the same rounds. */
export interface Ratio {
  readonly title: string;
  readonly of: Figure;
  readonly to?: Figure;
  readonly aim?: Aim | undefined;
  /** The ratio of two equal contenders in the same rounds, which shows how much results vary by chance. */
  readonly chance?: { readonly of: Figure; readonly to: Figure };
}

type Aim = { readonly atLeast: number } | { readonly atMost: number };

export interface MeasuredRatio {
  readonly title: string;
  readonly aim: string;
  readonly value: number;
  /** Undefined if there is no aim. */
  readonly met: boolean | undefined;
  /** Whether equal contenders differ as much in the same rounds. */
  readonly isChance: boolean;
}

const OURS = 'claimcheck';
const ACK = ['GitHub (replay key)', 'SendGrid (batch of 100)'] as const;

/** All published ratios, by the form that measures them. */
export const RATIOS: Readonly<Record<'default' | 'long', readonly Ratio[]>> = {
  default: [
    toBareWorker(waitRow(5), 'p50 ms', { atMost: 1.03 }),
    toBareWorker(`ack, ${ACK[0]}, new events`, 'deliveries/s', { atLeast: 0.9 }),
    toBareWorker(`ack, ${ACK[0]}, new events`, 'CPU ms per delivery', { atMost: 1.25 }),
    toBareWorker(`ack, ${ACK[1]}, new events`, 'deliveries/s'),
    toBareWorker(`ack, ${ACK[1]}, new events`, 'CPU ms per delivery', { atMost: 1.6 }),
    {
      title: 'receiver bundle, gzipped, in KiB',
      of: { row: 'bundle, gzipped', variant: 'receiver', metric: 'KiB' },
      aim: { atMost: 80 },
    },
    drainTo(OURS, 'graphile-worker', 2.3),
    drainTo(OURS, 'graphile-worker, local queue', 1.3),
    drainTo(`${OURS}, SQL by hand`, 'graphile-worker', 2.6),
    drainTo(`${OURS}, SQL by hand`, 'graphile-worker, local queue', 1.5),
    drainTo(`${OURS}, after an outage`, OURS, 0.5),
    drainTo(`${OURS}, 1,000 order keys`, OURS, 0.5),
    oneLine('handlers that only write', 1000),
    oneLine('handlers that read', 60),
    {
      title: 'from the delivery to the completion when it is calm, p50 in ms',
      of: { row: throughRow(RATES[0]), variant: waitName(WAITS[0]), metric: 'p50 ms' },
      aim: { atMost: 30 },
    },
    {
      title: 'from the delivery to the completion when it is calm, p99 in ms',
      of: { row: throughRow(RATES[0]), variant: waitName(WAITS[0]), metric: 'p99 ms' },
      aim: { atMost: 100 },
    },
    ...growing('1,000,000'),
  ],
  long: growing('10,000,000'),
};

function toBareWorker(row: string, metric: string, aim?: Aim): Ratio {
  const figure = (variant: string) => ({ row, variant, metric });
  const floor = figure('floor');
  const title = `${row}: ${metric}, to the bare Worker`;
  return { title, of: figure(OURS), to: floor, chance: { of: figure('floor again'), to: floor }, aim };
}

function drainTo(of: string, to: string, atLeast: number): Ratio {
  const figure = (variant: string) => ({ row: 'drain of 10,000 events, 10 consumers', variant, metric: 'events/s' });
  const chance = { of: figure(`${OURS} again`), to: figure(OURS) };
  return { title: `drain: events/s of ${of}, to ${to}`, of: figure(of), to: figure(to), chance, aim: { atLeast } };
}

function oneLine(variant: string, atLeast: number): Ratio {
  return {
    title: `${LINE_ROW}, ${variant}: events/s`,
    of: { row: LINE_ROW, variant, metric: 'events/s' },
    aim: { atLeast },
  };
}

function growing(size: string): Ratio[] {
  return ['claim of an event', 'completion of an event, in batches of 100'].map((what) => {
    const figure = (events: string) => ({
      row: `growth to ${size} events, ${what}`,
      variant: `${events} events`,
      metric: 'CPU ms per event in Postgres',
    });
    const title = `${what}, in Postgres, with ${size} events: to 10,000 events`;
    return { title, of: figure(size), to: figure('10,000'), aim: { atMost: 1.2 } };
  });
}

/** Undefined if the figures have not been measured. */
export function measure({ title, aim, chance, ...figures }: Ratio, results: Results): MeasuredRatio | undefined {
  const value = ratioOf(figures, results);
  if (value === undefined) return undefined;
  const equals = (chance && ratioOf(chance, results)) ?? 1;
  const isChance = Math.max(value, 1 / value) < Math.max(equals, 1 / equals);
  if (!aim) return { title, value, isChance, aim: '', met: undefined };
  return 'atLeast' in aim
    ? { title, value, isChance, aim: `at least ${aim.atLeast}`, met: value >= aim.atLeast }
    : { title, value, isChance, aim: `at most ${aim.atMost}`, met: value <= aim.atMost };
}

function ratioOf({ of, to }: Pick<Ratio, 'of' | 'to'>, results: Results): number | undefined {
  const over = valuesOf(results, of);
  const under = to && valuesOf(results, to);
  if (!over || (to && !under)) return undefined;
  return overall(of.metric, over) / (under ? overall(of.metric, under) : 1);
}
