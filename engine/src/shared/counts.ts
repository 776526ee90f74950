export function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** `1 event`, `2 events`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

/** `3 events`, `1 effect`, `3 events and 1 effect`. */
export function countedBoth({ events, effects }: { readonly events: number; readonly effects: number }): string {
  const counts = [events > 0 && counted(events, 'event'), effects > 0 && counted(effects, 'effect')].filter(Boolean);
  return counts.length === 0 ? 'nothing' : counts.join(' and ');
}
