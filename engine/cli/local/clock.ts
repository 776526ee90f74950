// In an app's tests, Workers use the test's clock (`app.now`), which they get from the stand-in for the outside before
// each call. Never deployed.

const RealDate = Date;
let aheadMs = 0;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, made) => Reflect.construct(target, given.length > 0 ? given : [now()], made),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});

function now(): number {
  return RealDate.now() + aheadMs;
}

type Call = (first: unknown, env: { readonly CLOCK_URL: string }, context: unknown) => unknown;

/** Wraps a Worker so that it uses the test's clock. */
export function onTestClock(worker: object): object {
  const calls = ['fetch', 'queue', 'scheduled'].flatMap((name): [string, Call][] => {
    const call: unknown = Reflect.get(worker, name);
    if (typeof call !== 'function') return [];
    return [
      [
        name,
        async (first, env, context) => {
          // Between two test files, nothing answers.
          const told = await fetch(env.CLOCK_URL).then(
            (response) => response.text(),
            () => undefined,
          );
          if (told !== undefined) aheadMs = Number(told);
          return Reflect.apply(call, worker, [first, env, context]);
        },
      ],
    ];
  });
  return { ...worker, ...Object.fromEntries(calls) };
}
