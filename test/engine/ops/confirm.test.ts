import { beforeAll, describe, expect, it, vi } from 'vitest';
import { type Action, actOnMany, actOnOne } from '../../../scripts/ops/action.ts';
import { connect, type OpsApi } from '../../../scripts/ops/api.ts';
import { TOKEN, useFakeApi } from './fake-api.ts';

const fake = useFakeApi();
let api: OpsApi;
beforeAll(() => {
  vi.stubEnv('OPS_TOKEN', TOKEN);
  api = connect(fake.url);
});

const action = (name: Action['name']) => ({ name, reason: undefined, effects: false, yes: false });
const changes = () => fake.calls.filter(({ method, path }) => method === 'POST' && !path.includes('dry_run'));

describe('a person at a terminal', () => {
  it('is asked with the number of events, and the action is done after a yes', async () => {
    const ask = vi.fn(async () => ' Y ');
    expect(await actOnMany(api, { source: 'stripe' }, action('retry'), ask, () => {})).toMatchObject({ events: 2 });
    expect(ask).toHaveBeenCalledWith('  2 events: stripe, handler: evt_1, evt_2\nretry 2 events? [y/N] ');
    expect(changes()).toHaveLength(1);
  });

  it.each(['', 'n', 'yesterday'])('who answers %j changes nothing', async (answer) => {
    const asked = actOnMany(
      api,
      { source: 'stripe' },
      action('retry'),
      async () => answer,
      () => {},
    );
    await expect(asked).rejects.toThrow('nothing was changed');
    expect(changes()).toEqual([]);
  });

  it('is told before a rerun that changes are made a second time, also for one event', async () => {
    const ask = vi.fn(async () => 'no');
    await expect(actOnOne(api, ['stripe', 'evt_1'], action('rerun'), ask)).rejects.toThrow('nothing was changed');
    expect(ask).toHaveBeenCalledWith('rerun this event? THEIR CHANGES ARE MADE A SECOND TIME. [y/N] ');
    expect(changes()).toEqual([]);
  });
});
