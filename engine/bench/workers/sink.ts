/** Replaces a queue: accepts and discards everything that a producer's binding sends. */
export default {
  async fetch(request: Request): Promise<Response> {
    // Read the body, because otherwise the sender might have to wait.
    await request.arrayBuffer();
    return Response.json({ metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } });
  },
};
