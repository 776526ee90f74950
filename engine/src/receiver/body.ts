export type Body =
  /** The caller must give `held` bytes back to the budget. */
  | { outcome: 'read'; bytes: Uint8Array<ArrayBuffer>; held: number }
  /** Larger than the source accepts. */
  | { outcome: 'too_large' }
  /** Not complete at the deadline. */
  | { outcome: 'too_slow' }
  /** The isolate holds as many bytes of bodies as it can. */
  | { outcome: 'overloaded' }
  /** The connection was closed in the middle of the body. */
  | { outcome: 'hung_up' };

/**
 * Slack waits 3 s for our answer, Shopify 5 s, GitHub 10 s. A body that takes longer is of no use to its sender, and
 * what has arrived of it would stay in memory.
 */
export const BODY_DEADLINE_MS = 10_000;

/**
 * All deliveries of an isolate share 128 MB, and a body takes several times its size while it is worked on: as bytes,
 * as text, as parsed JSON and in the request to Neon. So bodies, which strangers can send too, may fill only a small
 * part of it. There is room for four of the largest bodies (5 MiB) at once, or for thousands of ordinary ones.
 */
const MAX_BUFFERED_BYTES = 20 * 1024 * 1024;

/**
 * The budget counts whole blocks, because a body of one byte occupies one. A larger block would let few small bodies
 * fill the budget.
 */
const BLOCK_BYTES = 4 * 1024;

export interface Budget {
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}

/** One tenant must leave room for the others: a tenth, or one of the largest bodies that its source accepts. */
const TENANT_BYTES = MAX_BUFFERED_BYTES / 10;

/** Counts the memory that the bodies of an isolate occupy, from when they are read until the delivery is answered. */
export class BodyBudget implements Budget {
  #held = 0;
  readonly #heldByTenant = new Map<string, number>();

  /** The budget as one tenant has it. */
  ofTenant(name: string, maxBytes: number): Budget {
    const most = Math.max(TENANT_BYTES, BLOCK_BYTES * Math.ceil(maxBytes / BLOCK_BYTES));
    const held = () => this.#heldByTenant.get(name) ?? 0;
    return {
      take: (bytes) => {
        if (held() + bytes > most || !this.take(bytes)) return false;
        this.#heldByTenant.set(name, held() + bytes);
        return true;
      },
      giveBack: (bytes) => {
        this.giveBack(bytes);
        const left = held() - bytes;
        if (left > 0) this.#heldByTenant.set(name, left);
        else this.#heldByTenant.delete(name);
      },
    };
  }

  take(bytes: number): boolean {
    if (this.#held + bytes > MAX_BUFFERED_BYTES) return false;
    this.#held += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#held -= bytes;
  }
}

/** Reads the raw bytes, within all limits. The bytes of a body that was read stay in the budget. */
export async function readBody(request: Request, maxBytes: number, deadlineMs: number, budget: Budget): Promise<Body> {
  const { headers } = request;
  // The announced length of a chunked body says nothing (RFC 9112, section 6.3), and workerd hands us both headers.
  const announced = headers.has('transfer-encoding') ? Number.NaN : Number(headers.get('content-length'));
  if (announced > maxBytes) return { outcome: 'too_large' };

  const { promise: timeUp, resolve } = Promise.withResolvers<'too_slow'>();
  const timer = setTimeout(() => resolve('too_slow'), deadlineMs);
  // A block is taken for it anyway, and chunk by chunk would be slower.
  const isSmall = announced > 0 && announced <= BLOCK_BYTES;
  try {
    return await (isSmall
      ? readBlock(request, timeUp, budget)
      : readChunks(request, announced, maxBytes, timeUp, budget));
  } finally {
    clearTimeout(timer);
  }
}

async function readBlock(request: Request, timeUp: Promise<'too_slow'>, budget: Budget): Promise<Body> {
  if (!budget.take(BLOCK_BYTES)) return { outcome: 'overloaded' };
  const read = await Promise.race([request.arrayBuffer().catch(() => 'hung_up' as const), timeUp]);
  if (typeof read !== 'string') return { outcome: 'read', bytes: new Uint8Array(read), held: BLOCK_BYTES };
  budget.giveBack(BLOCK_BYTES);
  return { outcome: read };
}

/** A chunked body announces no length, so bytes are counted as they arrive. */
async function readChunks(
  { body }: Request,
  announced: number,
  maxBytes: number,
  timeUp: Promise<'too_slow'>,
  budget: Budget,
): Promise<Body> {
  if (body === null) return { outcome: 'read', bytes: new Uint8Array(), held: 0 };
  const reader = body.getReader();
  // Copied into blocks, because every chunk, even of a single byte, occupies at least 4 KiB in workerd.
  const blocks: Uint8Array[] = [];
  let length = 0;
  const stop = (outcome: Exclude<Body['outcome'], 'read'>): Body => {
    budget.giveBack(blocks.length * BLOCK_BYTES);
    // Nobody waits for the cancellation: after a hang-up it fails.
    reader.cancel().catch(() => {});
    return { outcome };
  };
  const read = (): Body => ({
    outcome: 'read',
    bytes: joined(blocks, length),
    held: blocks.length * BLOCK_BYTES,
  });
  while (true) {
    const next = await Promise.race([reader.read().catch(() => 'hung_up' as const), timeUp]);
    if (typeof next === 'string') return stop(next);
    if (next.done) return read();
    const chunk = next.value;
    if (length + chunk.length > maxBytes) return stop('too_large');
    for (let taken = 0; taken < chunk.length; ) {
      const used = length % BLOCK_BYTES;
      if (used === 0) {
        if (!budget.take(BLOCK_BYTES)) return stop('overloaded');
        blocks.push(new Uint8Array(BLOCK_BYTES));
      }
      const part = chunk.subarray(taken, taken + BLOCK_BYTES - used);
      blocks.at(-1)?.set(part, used);
      taken += part.length;
      length += part.length;
    }
    // HTTP delivers no byte beyond the announced length, so nothing is gained by waiting for the end.
    if (length > 0 && length === announced) return read();
  }
}

function joined(blocks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (const [n, block] of blocks.entries()) {
    bytes.set(block.subarray(0, length - n * BLOCK_BYTES), n * BLOCK_BYTES);
  }
  return bytes;
}
