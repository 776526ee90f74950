import { benchAck, benchTextbook } from './ack.ts';
import { benchBill } from './bill.ts';
import { benchDisk } from './disk.ts';
import { benchDistance } from './distance.ts';
import { benchDrain, benchLongDrain } from './drain.ts';
import { benchGrowth } from './growth.ts';
import { benchOperations } from './operations.ts';
import { benchPruning } from './pruning.ts';
import type { Length, Row } from './rows.ts';

/** `short` shows that everything works. `long` has the parts that take longer than all others together. */
export type Form = 'short' | 'default' | 'long';

type Part = Partial<Readonly<Record<Form, () => Promise<Row[]>>>>;

const SHORT: Length = { rounds: 1, seconds: 0.1 };

/**
 * Seconds are those of one measurement of one variant in one round. The default form must fit into 15 minutes. On a machine
 * that others share, the speed changes within seconds, so many short rounds say more than a few long ones.
 */
export const parts: Readonly<Record<string, Part>> = {
  ack: { short: () => benchAck(SHORT), default: () => benchAck({ rounds: 12, seconds: 0.5 }) },
  textbook: { short: () => benchTextbook(SHORT), default: () => benchTextbook({ rounds: 3, seconds: 1 }) },
  distance: { short: () => benchDistance(SHORT), default: () => benchDistance({ rounds: 2, seconds: 2 }) },
  footprint: { short: () => benchBill(SHORT), default: () => benchBill({ rounds: 3, seconds: 2 }) },
  drain: { short: () => benchDrain(SHORT), default: () => benchDrain({ rounds: 3, seconds: 5, maxSeconds: 300 }) },
  operations: { short: benchOperations, default: benchOperations },
  disk: { short: () => benchDisk(SHORT), default: () => benchDisk({ rounds: 1, seconds: 1 }) },
  growth: {
    short: () => benchGrowth(SHORT, [2000, 4000]),
    default: () => benchGrowth({ rounds: 5, seconds: 1 }, [10_000, 100_000, 1_000_000]),
  },
  pruning: {
    short: () => benchPruning(SHORT, 2000),
    default: () => benchPruning({ rounds: 1, seconds: 2 }, 100_000),
  },
  'long drain': { long: () => benchLongDrain({ rounds: 1, seconds: 0 }) },
  'long growth': { long: () => benchGrowth({ rounds: 5, seconds: 4 }, [10_000, 10_000_000]) },
  'long pruning': { long: () => benchPruning({ rounds: 1, seconds: 0 }, 1_000_000) },
};
