// W3C Trace Context: https://www.w3.org/TR/trace-context/

interface Trace {
  readonly traceId: string;
  readonly sampled: boolean;
}

/** Version, trace id, parent id and flags. Later versions may append more fields. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Longer than any version needs. The header is stored with the event, so its length must be limited. */
const MAX_LENGTH = 128;

/** `undefined` for a header that the standard calls invalid. Such a header is ignored. */
function parse(header: string | null | undefined): Trace | undefined {
  if (!header || header.length > MAX_LENGTH) return undefined;
  const [, version, traceId = '', parentId = '', flags = '', more] = TRACEPARENT.exec(header) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return undefined;
  return { traceId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function isTraceparent(header: string | null | undefined): header is string {
  return parse(header) !== undefined;
}

/** The log field for the sender's trace, if there is one. */
export function traceFields(header: string | null | undefined): { readonly trace_id?: string } {
  const trace = parse(header);
  return trace ? { trace_id: trace.traceId } : {};
}

/** The `traceparent` for a call that belongs to the received trace. `random` returns values in [0, 1). */
export function childTraceparent(header: string | null | undefined, random: () => number): string | undefined {
  const trace = parse(header);
  if (trace === undefined) return undefined;
  // The first digit is never 0, because an id that consists of zeros is invalid.
  const digits = Array.from({ length: 16 }, (_, n) => Math.floor(n === 0 ? 1 + random() * 15 : random() * 16));
  const parentId = digits.map((digit) => digit.toString(16)).join('');
  return `00-${trace.traceId}-${parentId}-${trace.sampled ? '01' : '00'}`;
}

/** A `fetch` for handlers and effects. Its calls belong to the trace that the event's delivery came with. */
export function fetchInTrace(
  outside: typeof fetch,
  received: string | null | undefined,
  random: () => number,
): typeof fetch {
  return (input, init) => {
    const traceparent = childTraceparent(received, random);
    if (traceparent === undefined) return outside(input, init);
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    // Keep the header of a handler that does its own tracing.
    if (!headers.has('traceparent')) headers.set('traceparent', traceparent);
    return outside(input, { ...init, headers });
  };
}
