/** Numbers in [0, 1), the same ones for the same seed (xorshift). */
export function randomFrom(seed: number): () => number {
  // The state must not be zero, or all numbers would be.
  let state = Math.imul(seed, 0x9e3779b1) || 1;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  // The first numbers of seeds that are close to each other are close, too.
  for (let skipped = 0; skipped < 10; skipped++) next();
  return next;
}
