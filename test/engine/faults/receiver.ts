import { makeReceiver } from '../fixture/make-receiver.ts';

/** With the limits of a deployed receiver: a claim that takes too long is forwarded. */
export default makeReceiver();
