/** One structured line. Only names, keys, outcomes and durations go in: never a body, a secret, a signature or a URL. */
export type Log = (line: { at: string } & Record<string, string | number | boolean | null | undefined>) => void;

export const log: Log = (line) => console.log(JSON.stringify(line));
