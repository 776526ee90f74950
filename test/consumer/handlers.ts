export const testHandlers = {};
