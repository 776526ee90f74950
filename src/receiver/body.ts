export type Body = { outcome: 'read'; bytes: Uint8Array<ArrayBuffer> } | { outcome: 'too_large' };

/** Reads the raw bytes, and no more than the limit of them: a chunked body announces no length. */
export async function readBody(request: Request, maxBytes: number): Promise<Body> {
  if (Number(request.headers.get('content-length')) > maxBytes) return { outcome: 'too_large' };

  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = request.body?.getReader();
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
    length += next.value.length;
    if (length > maxBytes) {
      await reader?.cancel();
      return { outcome: 'too_large' };
    }
    chunks.push(next.value);
  }

  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return { outcome: 'read', bytes };
}
