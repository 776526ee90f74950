import type { Statement } from '../db/client.ts';
import type { CheckTexts, RefuseUnknown } from '../providers/define.ts';
import type { Provider, Template } from '../providers/types.ts';
import type { ExpectedTypes } from '../shared/event-types.ts';
import type { Tools } from './handler.ts';

/**
 * One configured sender. Its secret is `<SOURCE>_WEBHOOK_SECRET`: the source's name in upper snake case.
 *
 * @example
 * const hooks: Source = { provider: github, types: ['push'], maxBytes: 5_000_000 };
 */
export interface Source {
  readonly provider: Provider;
  /**
   * The types you subscribed to; `'issues.*'` stands for all that begin with `issues.` A handler for another type doesn't
   * compile. An event of another type is ignored, unless a pattern of your handlers takes it. `'*'`: the types are not known
   * beforehand. Then a handler for any type compiles, and an event without a handler is ignored.
   */
  readonly types: ExpectedTypes;
  /** The largest body that is accepted. Default: the provider's own limit, or 1 MiB. */
  readonly maxBytes?: number;
  /**
   * The URL that the provider sends to, if a proxy or a custom domain is in front of the Worker. Square, Twilio and
   * HubSpot sign this URL.
   */
  readonly url?: string;
  /**
   * Set it while you register a webhook whose provider sends the secret itself (Notion, Asana). The secret is written
   * to the log, encrypted with the secret that is configured now: see docs/providers.md. Remove it afterwards, because
   * anybody can send such a request.
   */
  readonly awaitsSecret?: true;
  /**
   * Set it while you subscribe this address to a topic of AWS SNS: the subscription is then confirmed by a call to AWS. Remove it
   * afterwards.
   */
  readonly awaitsConfirmation?: true;
  /** `content`: the SHA-256 of the body is the event's id, for senders whose own ids are not reliable. */
  readonly dedupe?: 'id' | 'content';
  /**
   * Two events of this source may have the same body, so the body is not used to detect replays. The price: somebody
   * who has captured one delivery can send it again under another id, if the provider doesn't sign the id.
   */
  readonly bodiesRepeat?: true;
  /**
   * Events with the same key, such as `'{json:data.object.customer}'`, are worked one at a time and in order: the one that
   * was received first goes first. An event of which the template can't be filled is worked in any order. Handlers see the
   * key as `event.orderKey`, and `event.late` if a later event was worked before.
   */
  readonly orderKey?: Template | readonly Template[] | OrderKey;
  /**
   * Many senders, each with an address and a secret of its own, which are made while the Workers run (docs/tenants.md). Ids,
   * replay keys and order keys of one can't meet those of another, and handlers see `event.tenant`. Only for a new source: the ids
   * of events that it has already name no tenant.
   */
  readonly tenants?: true;
}

/**
 * An order key, and what happens to the events behind one that is parked.
 *
 * @example
 * const perCustomer: OrderKey = { of: '{json:customer}', afterParked: 'continue' };
 */
export interface OrderKey {
  /** The first template that can be filled. */
  readonly of: Template | readonly Template[];
  /** `wait` (the default): the later events wait until somebody retries or discards it. `continue`: they don't. */
  readonly afterParked?: 'wait' | 'continue';
}

/**
 * A property that a source doesn't have is a compile error: a misspelt option would be ignored without a word.
 *
 * @example
 * export const sources = defineSources({
 *   billing: { provider: stripe, types: ['invoice.paid'] },
 *   code: { provider: github, types: ['push'] },
 * });
 */
export function defineSources<const Sources extends Record<string, Source>>(
  sources: Sources & {
    [Name in keyof Sources]: { [Other in Exclude<keyof Sources[Name], keyof Source>]: never } & CheckOrderKey<
      Sources[Name]
    >;
  },
): Sources {
  for (const [name, source] of Object.entries<Source>(sources)) {
    const isHandedOver = source.provider.handshakes?.some(({ handsOver }) => handsOver !== undefined);
    if (source.tenants && isHandedOver) {
      throw new TypeError(`${name} can't have tenants: ${source.provider.name} hands its secrets over to the log`);
    }
  }
  return sources;
}

/** A wrong template is a compile error, as in `defineProvider`. The check is that of ids: a key must have a place. */
type CheckOrderKey<One extends Source> = One extends { readonly orderKey: infer Key }
  ? {
      readonly orderKey: Key extends OrderKey
        ? { readonly of: CheckTexts<Key['of'], 'id'> } & RefuseUnknown<Key, OrderKey>
        : CheckTexts<Key, 'id'>;
    }
  : unknown;

/** The types that a source may send, as far as it says. */
export type TypesOf<One extends Source> = One['types'] extends readonly (infer Type extends string)[]
  ? Type extends `${infer First}.*`
    ? Type | `${First}.${string}`
    : Type
  : string;

/**
 * Makes the body of a sample delivery. A provider that has the id in its body expects this one.
 *
 * @example
 * const paid: SampleBody = ({ id, type, now }) => ({ id, type, cents: 4200, at: now });
 */
export type SampleBody = (event: { readonly id: string; readonly type: string; readonly now: Date }) => object;

/**
 * By source, then by type.
 *
 * @example
 * const samples: Samples = { billing: { 'invoice.paid': ({ id, type }) => ({ id, type, cents: 4200 }) } };
 */
export type Samples = Readonly<Record<string, Readonly<Record<string, SampleBody | undefined>> | undefined>>;

/**
 * Bodies of your own for `npm run send`, `npm run demo` and your tests, by source and type.
 *
 * @example
 * export const samples = defineSamples(sources, {
 *   billing: { 'invoice.paid': ({ id, type }) => ({ id, type, cents: 4200 }) },
 * });
 */
export function defineSamples<Sources extends Record<string, Source>>(
  _sources: Sources,
  samples: { readonly [Name in keyof Sources]?: { readonly [Type in TypesOf<Sources[Name]>]?: SampleBody } },
): Samples {
  return samples;
}

/**
 * A call of a handler or an effect to the outside. On your machine a stand-in receives it.
 *
 * @example
 * const isReceipt = ({ method, path }: OutsideCall) => method === 'POST' && path === '/receipts';
 */
export interface OutsideCall {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly body: string;
}

/**
 * What the stand-in answers: JSON, or a `Response`, which may fail. For `undefined` it answers `{}`.
 *
 * @example
 * export const answers: OutsideAnswer = ({ path }) =>
 *   path === '/receipts' ? new Response(null, { status: 503 }) : undefined;
 */
export type OutsideAnswer = (call: OutsideCall) => Response | object | undefined;

/**
 * Statements for rows that must be there before your samples are sent.
 *
 * @example
 * export const seed: Seed = (db) => [db.insert(accounts).values({ email: 'jane@example.com' }).onConflictDoNothing()];
 */
export type Seed = (db: Tools['db']) => readonly Statement[];
