import { childTraceparent } from '../encoding/traceparent.ts';

/** `fetch` for the handler or an effect of an event: its calls belong to the trace that the event's delivery came with. */
export function fetchInTrace(
  outside: typeof fetch,
  received: string | null | undefined,
  random: () => number,
): typeof fetch {
  return (input, init) => {
    const traceparent = childTraceparent(received, random);
    if (traceparent === undefined) return outside(input, init);
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    // A handler may do its own tracing.
    if (!headers.has('traceparent')) headers.set('traceparent', traceparent);
    return outside(input, { ...init, headers });
  };
}
