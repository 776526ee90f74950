import type { Provider } from '../providers/types.ts';

/** One configured sender. Its secret is `<SOURCE>_WEBHOOK_SECRET`: the source's name in upper snake case. */
export interface Source {
  readonly provider: Provider;
  /** The types you subscribed to. A handler for any other type doesn't compile; an event of any other type is ignored. */
  readonly types: readonly string[];
  /** The largest body that is accepted. Default: the provider's own limit, or 1 MiB. */
  readonly maxBytes?: number;
  /**
   * The URL that the provider sends to, if a proxy or a custom domain is in front of the Worker. Square, Twilio and
   * HubSpot sign this URL.
   */
  readonly url?: string;
  /**
   * Set it while you register a webhook whose provider sends the secret itself (Notion, Asana). The secret is written to
   * the log, encrypted with the secret that is configured now: see docs/providers.md. Remove it afterwards, because
   * anybody can send such a request.
   */
  readonly awaitsSecret?: true;
  /** `content`: the SHA-256 of the body is the event's id, for senders whose own ids are not reliable. */
  readonly dedupe?: 'id' | 'content';
  /**
   * Two events of this source may have the same body, so the body is not used to detect replays. The price: somebody who
   * has captured one delivery can send it again under another id, if the provider doesn't sign the id.
   */
  readonly bodiesRepeat?: true;
}

/** A property that a source doesn't have is a compile error: a misspelt option would be ignored without a word. */
export function defineSources<const Sources extends Record<string, Source>>(
  sources: Sources & { [Name in keyof Sources]: { [Other in Exclude<keyof Sources[Name], keyof Source>]: never } },
): Sources {
  return sources;
}
