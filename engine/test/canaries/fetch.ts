// Runs before every test file in Node. Every answer that a test fetches is searched, and what the test sends to prove who
// it is becomes a canary.
import { learnCredentials, learnFromBody, searchAnswer } from './answers.ts';
import { once } from './canaries.ts';

once('fetch', () => {
  const send = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const { url, headers } =
      input instanceof Request ? input : { url: String(input), headers: new Headers(init?.headers) };
    learnCredentials(headers);
    learnFromBody(init?.body);
    const response = await send(input, init);
    // Neon's answers hold what is in the database, and go to the code under test.
    if (new URL(url).pathname !== '/sql') await searchAnswer(response.clone(), url);
    return response;
  };
});
