import { type Figure, type Results, valuesOf } from './results.ts';
import { countOf, median, SAME_RATE } from './rows.ts';

/** One figure divided by another of the same round, or one figure alone. */
export interface Ratio {
  readonly title: string;
  readonly of: Figure;
  readonly to?: Figure;
  readonly aim?: { readonly atLeast: number } | { readonly atMost: number };
}

export interface MeasuredRatio {
  readonly title: string;
  readonly aim: string;
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
  readonly rounds: number;
  /** By the median. Undefined if nothing was aimed at. */
  readonly met: boolean | undefined;
}

const GITHUB = 'GitHub (replay key)';
const SOURCES = [GITHUB, 'Standard Webhooks (signed time)', 'SendGrid (batch of 100)'];
const TEXTBOOK = 'ack, GitHub, 32 connections, new events';
const OURS = 'claimcheck';

/** All ratios that are published, by the form that measures them. */
export const RATIOS: Readonly<Record<'default' | 'long', readonly Ratio[]>> = {
  default: [
    ...[1, 32, 128].flatMap((connections) => againstFloor(GITHUB, connections)),
    ...SOURCES.slice(1).flatMap((source) => againstFloor(source, 32)),
    againstTextbook(200, `${SAME_RATE} a second`, { atMost: 1 / 20 }),
    againstTextbook(200, 'as many as each can answer'),
    againstTextbook(0, `${SAME_RATE} a second`),
    {
      title: 'receiver bundle, gzipped, in KiB',
      of: { row: 'bundle, gzipped', variant: 'receiver', metric: 'KiB' },
      aim: { atMost: 80 },
    },
    ...againstPeers('10,000'),
    ...growing('1,000,000'),
    pruning('100,000'),
  ],
  long: [...againstPeers('100,000'), ...growing('10,000,000'), pruning('1,000,000')],
};

function againstFloor(source: string, connections: number): Ratio[] {
  const figure = (events: string, variant: string, metric: string) => ({
    row: `ack, ${source}, ${countOf(connections)}, ${events}`,
    variant,
    metric,
  });
  const toFloor = (what: string, metric: string, aim: NonNullable<Ratio['aim']>): Ratio => ({
    title: `ack, ${source}, ${countOf(connections)}: ${what}, to the bare Worker`,
    of: figure('new events', OURS, metric),
    to: figure('new events', 'floor', metric),
    aim,
  });
  return [
    toFloor('new events/s', 'deliveries/s', { atLeast: 0.9 }),
    toFloor('CPU', 'CPU ms per delivery', { atMost: 1.3 }),
    {
      title: `ack, ${source}, ${countOf(connections)}: duplicates/s, to new events/s`,
      of: figure('duplicates', OURS, 'deliveries/s'),
      to: figure('new events', OURS, 'deliveries/s'),
      aim: { atLeast: 1 },
    },
  ];
}

function againstTextbook(workMs: number, load: string, aim?: Ratio['aim']): Ratio {
  const row = `${TEXTBOOK}, ${load}`;
  return {
    title: `ack, 32 connections, ${load}: p99, to the textbook with ${workMs} ms of work`,
    of: { row, variant: OURS, metric: 'p99 ms' },
    to: { row, variant: `textbook, ${workMs} ms of work`, metric: 'p99 ms' },
    ...(aim ? { aim } : {}),
  };
}

function againstPeers(events: string): Ratio[] {
  const rate = (consumers: string, variant: string) => ({
    row: `drain of ${events} events, ${consumers}`,
    variant,
    metric: 'events/s',
  });
  const ratio = (consumers: string, of: string, to: string, atLeast: number): Ratio => ({
    title: `drain of ${events} events, ${consumers}: ${of === OURS ? 'to ' : `${of.replace(`${OURS}, `, '')}, to `}${to === OURS ? 'spread rows' : to}`,
    of: rate(consumers, of),
    to: rate(consumers, to),
    aim: { atLeast },
  });
  const byHand = `${OURS}, SQL by hand`;
  const ten = '10 consumers';
  const one = '1 consumer';
  return [
    ratio(ten, OURS, 'graphile-worker', 2.5),
    ratio(ten, OURS, 'graphile-worker, local queue', 2.5),
    ratio(ten, OURS, 'one transaction per event', 1.3),
    // As the peers have it.
    ratio(ten, byHand, 'graphile-worker', 2.5),
    ratio(ten, byHand, 'graphile-worker, local queue', 2.5),
    ratio(ten, byHand, 'one transaction per event', 1.3),
    ratio(ten, `${OURS}, hot rows`, OURS, 0.7),
    ratio(ten, `${OURS}, after an outage`, OURS, 0.5),
    ratio(one, OURS, 'graphile-worker', 1.5),
    ratio(one, OURS, 'graphile-worker, local queue', 1.5),
  ];
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

function pruning(events: string): Ratio {
  const row = `ack, GitHub, 32 connections, new events, while ${events} events are pruned`;
  return {
    title: `ack, 32 connections: p99 while ${events} events are pruned, to the p99 without pruning`,
    of: { row, variant: 'with pruning', metric: 'p99 ms' },
    to: { row, variant: 'without', metric: 'p99 ms' },
  };
}

/** Undefined if the figures have not been measured. */
export function measure(ratio: Ratio, results: Results): MeasuredRatio | undefined {
  const of = valuesOf(results, ratio.of);
  const to = ratio.to ? valuesOf(results, ratio.to) : of?.map(() => 1);
  if (!of || !to) return undefined;
  const values = of.map((value, round) => value / (to[round] ?? Number.NaN));
  const middle = median(values);
  return {
    title: ratio.title,
    aim: aimOf(ratio),
    median: middle,
    lowest: Math.min(...values),
    highest: Math.max(...values),
    rounds: values.length,
    met: isMet(middle, ratio.aim),
  };
}

function isMet(value: number, aim: Ratio['aim']): boolean | undefined {
  if (!aim) return undefined;
  return 'atLeast' in aim ? value >= aim.atLeast : value <= aim.atMost;
}

function aimOf({ aim }: Ratio): string {
  if (!aim) return '';
  return 'atLeast' in aim ? `at least ${aim.atLeast}` : `at most ${aim.atMost}`;
}
