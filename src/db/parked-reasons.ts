// How `last_error` begins if something else than a handler or an effect parked the event. The alerts look for these
// words. An error that was thrown begins with its class and a colon, so none of them can be mistaken for it.

export const QUEUE_GAVE_UP = 'the queue gave up';
export const SUSPECTED_REPLAY = 'suspected replay';
