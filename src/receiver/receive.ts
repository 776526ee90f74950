import type { Source } from '../app/define.ts';
import type { Log } from '../log.ts';
import { type Reason, verify } from '../providers/verify.ts';
import { readBody } from './body.ts';
import { hold } from './hold.ts';
import { type Identified, identify, keptHeaders } from './identify.ts';
import { secretsOf } from './secrets.ts';

export type Outcome =
  | { outcome: 'accepted' | 'duplicate'; ids: string[]; accepted: number; duplicate: number; forwarded?: true }
  | { outcome: 'too large' }
  | { outcome: 'no secret' }
  | { outcome: 'refused'; reason: Reason }
  | Extract<Identified, { outcome: 'unclaimable' }>
  | { outcome: 'not held' };

/** As much as any provider sends in one delivery, with room; a source may set its own. */
const MAX_BYTES = 1024 * 1024;

/** The path of one delivery, in its order: bytes before text, verify before parse, claim before ack. */
export async function receive(
  request: Request,
  name: string,
  source: Source,
  env: ReceiverEnv,
  now: Date,
  log: Log,
): Promise<Outcome> {
  const body = await readBody(request, source.maxBytes ?? MAX_BYTES);
  if (body.outcome === 'too large') return body;

  const secrets = secretsOf(name, env);
  if (secrets.length === 0) return { outcome: 'no secret' };
  const { method, url, headers } = request;
  const verdict = await verify(source.provider, { method, url, headers, body: body.bytes }, secrets, now);
  if (verdict.outcome === 'refused') return verdict;

  const identified = await identify(source, headers, body.bytes);
  if (identified.outcome === 'unclaimable') return identified;

  const { events } = identified;
  const ids = events.map((event) => event.eventId);
  const held = await hold(
    { source: name, events, headers: keptHeaders(source.provider, headers), receivedAt: now },
    env,
    log,
  );
  switch (held.outcome) {
    case 'claimed': {
      const accepted = held.claims.claimed.length;
      const duplicate = events.length - accepted;
      return { outcome: accepted > 0 ? 'accepted' : 'duplicate', ids, accepted, duplicate };
    }
    case 'forwarded':
      return { outcome: 'accepted', ids, accepted: events.length, duplicate: 0, forwarded: true };
    case 'not held':
      return held;
  }
}
