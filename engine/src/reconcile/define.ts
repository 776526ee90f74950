import type { Reconcile } from '../consumer/portions.ts';
import type { Source } from '../kit/index.ts';
import { asList } from '../verify/places.ts';
import type { ListedDeliveries, ListedEvents } from './kinds.ts';
import { runList } from './list.ts';
import { runRedeliver } from './redeliver.ts';
import { runReconcile } from './run.ts';

/**
 * Lists the providers that are asked what they have sent. Events that never arrived are claimed and worked, or
 * requested again. An unknown source is a compile error. A source whose ids can't be compared with those of the API is
 * an error at start-up.
 *
 * @example
 * // src/reconcile.ts; in src/consumer.ts: consumer({ sources, handlers, effects, reconcile })
 * export const reconcile = defineReconcile(sources, {
 *   billing: stripeEvents({ key: 'STRIPE_API_KEY' }),
 *   code: githubDeliveries({ hook: 'orgs/acme/hooks/1', token: 'GITHUB_TOKEN' }),
 * });
 */
export function defineReconcile<Sources extends Readonly<Record<string, Source>>>(
  sources: Sources,
  kinds: { readonly [Name in keyof Sources]?: ListedEvents | ListedDeliveries },
): Reconcile {
  const found = new Map<string, { source: Source; kind: ListedEvents | ListedDeliveries }>();
  for (const name of Object.keys(kinds)) {
    const source = sources[name];
    const kind = kinds[name];
    if (source === undefined || kind === undefined) continue;
    const mistake = mistakeIn(source, kind);
    if (mistake !== undefined) throw new Error(`${name} can't be reconciled: ${mistake}`);
    found.set(name, { source, kind });
  }
  return {
    sources: [...found.keys()],
    async run(message, env, dependencies) {
      const name = message.reconcile;
      const one = found.get(name);
      if (one === undefined) return undefined;
      const { kind } = one;
      return runReconcile({ name, ...one, message, env }, dependencies, (run) =>
        'list' in kind ? runList({ ...run, kind }) : runRedeliver({ ...run, kind }),
      );
    },
  };
}

/** For listed events, the id, the type and the time must be in the body, because the API returns nothing else. */
function mistakeIn(
  { provider, dedupe, types, tenants }: Source,
  kind: ListedEvents | ListedDeliveries,
): string | undefined {
  if (dedupe === 'content') return 'its ids are made from the content, which the API writes differently';
  if (tenants) return 'it has tenants, each with an account of its own at the provider';
  if (!('list' in kind)) return undefined;
  if (types.length === 0) return 'it names no types';
  if (provider.batch) return 'its deliveries hold several events';
  const isInBody = (template: string) =>
    (template.match(/{[^}]*}/g) ?? []).every((place) => place.startsWith('{json:'));
  if (!asList(provider.id.at).every(isInBody)) return 'its ids are not in the body';
  // A later delivery of a listed event would be a suspected replay, because anybody could have sent it under the known
  // id.
  if (!provider.id.signed) return 'its ids are not signed';
  if (!provider.type.some(isInBody)) return 'its types are not in the body';
  const times = [provider.occurredAt ?? []].flat().flatMap(({ at }) => asList(at));
  if (!times.some((place) => place.startsWith('json:'))) return 'its bodies hold no time';
  return undefined;
}
