import { withTimeLimit } from '../shared/time-limit.ts';

/** A provider changes its keys a few times a year and publishes them days before. */
const FRESH_MS = 3_600_000;
/**
 * If a host doesn't answer, older keys are better than refusing every delivery. After a day, a key may have been
 * revoked.
 */
const USABLE_MS = 24 * FRESH_MS;
/** Strangers can name keys that don't exist, so a host is asked at most this often. */
const ASK_EVERY_MS = 10_000;
/** Plaid and Pub/Sub wait 10 s for our answer and SNS 15 s, and the claim needs time as well. */
const TIME_LIMIT_MS = 2000;
/** Google's key set has 2 KiB, and a certificate 3 KiB. */
const MAX_BYTES = 64 * 1024;
/** A host serves one or two values at the same time. */
const MAX_KEPT = 50;

export interface KeysUnavailable {
  readonly outcome: 'keys_unavailable';
  readonly host: string;
  readonly why: string;
}

/** When this isolate last asked each host. */
const asked = new Map<string, number>();

/**
 * Caches keys fetched from the hosts that a provider's data names, for the life of the isolate. `parse` returns
 * `undefined` for an unexpected answer.
 */
export class KeyCache<Value> {
  readonly #parse: (text: string) => Promise<Value | undefined>;
  readonly #kept = new Map<string, { readonly value: Value; readonly at: number }>();
  readonly #running = new Map<string, { readonly asking: Promise<string | undefined>; readonly since: number }>();

  constructor(parse: (text: string) => Promise<Value | undefined>) {
    this.#parse = parse;
  }

  /**
   * `isEnough` says whether a cached value has the wanted key. If it doesn't, the key may be newer than the cached
   * value.
   */
  async get(
    url: string,
    now: Date,
    isEnough: (value: Value) => boolean = () => true,
    init: RequestInit = {},
  ): Promise<{ outcome: 'found'; value: Value } | { outcome: 'absent' } | KeysUnavailable> {
    const id = `${url} ${init.body ?? ''}`;
    const found = this.#youngerThan(FRESH_MS, id, now);
    if (found && isEnough(found.value)) return { outcome: 'found', value: found.value };
    const running = this.#running.get(id);
    // If the runtime has ended the request that began this fetch, the fetch never ends.
    const isAlive = running && now.getTime() - running.since < TIME_LIMIT_MS;
    const asking = isAlive ? running.asking : this.#ask(id, url, now, init);
    const why = await withTimeLimit(TIME_LIMIT_MS, asking, () => 'too slow');
    const latest = this.#youngerThan(USABLE_MS, id, now);
    if (latest && isEnough(latest.value)) return { outcome: 'found', value: latest.value };
    return why === undefined ? { outcome: 'absent' } : { outcome: 'keys_unavailable', host: new URL(url).host, why };
  }

  #youngerThan(ms: number, id: string, now: Date) {
    const kept = this.#kept.get(id);
    return kept && now.getTime() - kept.at < ms ? kept : undefined;
  }

  /** Returns `undefined` if the value is now cached, or else the reason why not. */
  async #ask(id: string, url: string, now: Date, init: RequestInit): Promise<string | undefined> {
    const { host } = new URL(url);
    if (now.getTime() - (asked.get(host) ?? Number.NEGATIVE_INFINITY) < ASK_EVERY_MS) return 'asked a moment ago';
    asked.set(host, now.getTime());
    const asking = this.#fetch(id, url, now, init);
    this.#running.set(id, { asking, since: now.getTime() });
    const why = await asking;
    this.#running.delete(id);
    return why;
  }

  async #fetch(id: string, url: string, now: Date, init: RequestInit): Promise<string | undefined> {
    try {
      const signal = AbortSignal.timeout(TIME_LIMIT_MS);
      // A redirect could lead to any host, so it counts as a failed answer.
      const answer = await fetch(url, { ...init, redirect: 'manual', signal });
      const text = answer.status === 200 ? await textOf(answer) : undefined;
      if (text === undefined) {
        await answer.body?.cancel().catch(() => {});
        return answer.status === 200 ? 'too large' : `status ${answer.status}`;
      }
      const value = await this.#parse(text);
      if (value === undefined) return 'not a key';
      this.#kept.delete(id);
      this.#kept.set(id, { value, at: now.getTime() });
      const [oldest = ''] = this.#kept.keys();
      if (this.#kept.size > MAX_KEPT) this.#kept.delete(oldest);
      return undefined;
    } catch (error) {
      return error instanceof DOMException && error.name === 'TimeoutError' ? 'too slow' : 'no answer';
    }
  }
}

/** `undefined` if the answer is larger than MAX_BYTES. */
async function textOf({ body }: Response): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}
