// Beside the two Workers in workerd: the way of a queue, and of the clock, to the consumer.
export default {
  async fetch(request, env) {
    const { queue, messages, scheduledTime } = await request.json();
    if (!queue)
      return Response.json(await env.CONSUMER.scheduled({ scheduledTime: new Date(scheduledTime), cron: '*' }));
    const received = messages.map(({ id, timestamp, attempts, json, bytes }) => ({
      id,
      timestamp: new Date(timestamp),
      attempts,
      body: bytes ? Uint8Array.fromBase64(bytes).buffer : json,
    }));
    return Response.json(await env.CONSUMER.queue(queue, received));
  },
};
