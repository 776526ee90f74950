import consumer from '../../fixture/consumer.ts';
import receiver from '../../fixture/receiver-with-real-limits.ts';

// Receiver and consumer in one bundle, which is a third smaller than two. Without the ops Worker, which no other depends on.
export default { ...consumer, fetch: receiver.fetch } satisfies ExportedHandler<Env & ConsumerEnv>;
