import { benchAck } from './ack.ts';
import { benchBill } from './bill.ts';
import { benchDisk } from './disk.ts';
import { benchDrain } from './drain.ts';
import { benchGrowth } from './growth.ts';
import type { Length, Row } from './rows.ts';
import { benchThrough } from './through.ts';
import { benchWait } from './wait.ts';

/** `short` only shows that everything works. `long` has the parts that take longer than all others together. */
export type Form = 'short' | 'default' | 'long';

export type Part = Partial<Readonly<Record<Form, () => Promise<Row[]>>>>;

const SHORT: Length = { rounds: 1, part: 0.05 };

/**
 * The default form must fit into 12 minutes. On a shared machine, many short rounds are more reliable than a few long
 * ones.
 */
export const parts: Readonly<Record<string, Part>> = {
  wait: { short: () => benchWait(SHORT), default: () => benchWait({ rounds: 5, part: 1 }) },
  ack: { short: () => benchAck(SHORT), default: () => benchAck({ rounds: 10, part: 1 }) },
  through: { short: () => benchThrough(SHORT), default: () => benchThrough({ rounds: 3, part: 1 }) },
  drain: { short: () => benchDrain(SHORT), default: () => benchDrain({ rounds: 4, part: 1, maxSeconds: 240 }) },
  footprint: { short: () => benchBill(SHORT), default: () => benchBill({ rounds: 5, part: 1 }) },
  disk: { short: () => benchDisk(SHORT), default: () => benchDisk({ rounds: 1, part: 1 }) },
  growth: {
    short: () => benchGrowth(SHORT, [2000, 4000]),
    default: () => benchGrowth({ rounds: 5, part: 0.5 }, [10_000, 100_000, 1_000_000]),
  },
  'long growth': { long: () => benchGrowth({ rounds: 5, part: 2 }, [10_000, 10_000_000]) },
};
