import { hasPair } from '../cli/samples/sign.ts';
import { type Provider, providers } from '../src/providers/index.ts';
import { type Facts, factOf, wordsOf } from '../src/providers/proof.ts';
import type { CertificateScheme, Condition, Handshake, Jose, Reply, Scheme, Token } from '../src/providers/types.ts';
import { MAX_BATCH_BYTES, MAX_EVENTS } from '../src/receiver/identify.ts';
import { proofOf } from './proofs.ts';
import { countProofs, provedBy } from './proved-by.ts';

/** Generates the text of docs/providers.md from the data. */
export function render(): string {
  const all = Object.values(providers);
  const { known, proved, tokens, assumed } = countProofs(Object.keys(providers));
  return `<!-- Made from the files in engine/src/providers: change those, not this page. -->

# Providers

${known} providers are known. ${proved} are proved by other people's SDKs, vectors or implementations (the column *proved by*). ${tokens} send a token, which needs no
proof. ${known - proved - tokens} is built from its documentation alone. The schemes of ${assumed} more senders, Awardee and GetHook, are assumptions, because they document
none. How to set up Stripe, GitHub, Shopify, Slack and Clerk, step by step: [connect.md](connect.md). Other senders: [own-provider.md](own-provider.md).

Each provider is a file of data in [engine/src/providers](../engine/src/providers), and one verifier reads them all. A source in \`src/sources.ts\` names its
provider. The Worker's bundle contains only providers that a source names.

${table(
  ['provider', 'signature', 'id is signed', 'retries', 'proved by'],
  all.map(({ name, scheme, id }) => [
    `[${name}](#${name})`,
    scheme.token !== undefined ? 'a token' : algorithmOf(scheme),
    id.signed ? 'yes' : 'no',
    retriesOf(proofOf(name).facts),
    provedBy(name),
  ]),
)}

What several providers have in common is at the end of this page: [replay keys](#the-replay-key), [keys that are fetched](#keys-that-are-fetched), [retries](#retries),
[batches](#batches), [handshakes](#handshakes-and-answers), [a secret that the provider sends](#a-secret-that-the-provider-sends),
[limits](#limits-worth-knowing), and [what is not supported](#not-supported).

## What a section says

A missing line means that the provider has no such thing, or doesn't document it.

- *Signature*, *covers* and *key*: the secret is \`<SOURCE>_WEBHOOK_SECRET\`. While you rotate it, the previous one is
  \`<SOURCE>_WEBHOOK_SECRET_PREVIOUS\`.
- *Window*: a delivery is refused if the time that the provider signs differs from ours by more than this, in either direction. Here
  and at *happened at*, the brackets give the unit of the time: in seconds (s) or milliseconds (ms) since 1970, or as an ISO
  8601 text (iso).
- *Id*, *replay key* and *type* are made from *templates*: \`{json:id}\` stands for the field \`id\` of the event, and \`{header:x-id}\` for
  the header of this name. If several templates are listed, the first that can be filled with a usable id is used. \`{sha256}\` is the
  hash of the event's own JSON, \`{signed-header:x-id}\` the header if this delivery signs it. With \`{random}\` every delivery is a
  new event. An event without a usable id is claimed by its content, because many providers never send an event again after a 4xx.
- *Answer*: without this line, the answer for an event is 200 with our JSON. *Largest body*: without this line, it is 1 MiB. A source
  can set its own \`maxBytes\`.
- *Retries*, *retries end with*, *time limit* (until the provider gives up an attempt), *again by hand* and *the same event* are for
  operators. The template keeps all facts with their sources, apart from the data, and a test compares the two.
- *Looked up* is the day on which every fact was looked up in its source. *Not certain* names what was not found then. Without a day, the facts rest on an
  earlier reading alone.
- *Proved by*:
  - *Official vector*: a signature that the provider published, in its documentation or in the tests of its SDK.
  - *Official SDK*: the provider's SDK verifies our signatures on every test run. *Both ways*: it also signs, and we verify.
  - *Vector made by* an SDK: made once with that SDK. The tests don't install it.
  - *Package of others*: a widely used package that is not the provider's own. It verifies our signatures on every test run.
  - *Third-party vector*: from the tests of somebody else's library.
  - *Vector that … accepts*: computed from the provider's documentation, and once given to another open-source receiver, which
    accepted it and refused it with a changed body. The tests don't install that receiver.
  - *Own vector only*: no other code was available. The vector was computed from the documentation, with an implementation of HMAC that
    isn't ours.

For every provider, the tests also sign a sample delivery and send it to a real receiver.

## Each provider

${all.map(sectionOf).join('\n\n')}

## The replay key

If the id is not signed, an event with a new id but a known replay key is parked as a [suspected replay](guarantees.md#suspected-replays). If a source really
sends the same body more than once, set \`bodiesRepeat: true\` on it. If only some types of a provider repeat their
bodies (five of GitHub's, two kinds of Shopify's, WooCommerce's \`action.*\`), its data says so already.

## Keys that are fetched

AWS SNS, Google, Kinde, PayPal and Plaid sign with a private key. Their public keys are fetched from the host in the provider's data: at most once per host
and ten seconds in an isolate, and only for a token of the right form. Apple sends its key in each delivery, in a chain of certificates that ends at
a pinned root. So the secret of such a source is not a key: it names whom a delivery must be meant for, in the words that the provider's section gives.
The first delivery waits until its key is fetched. While a key can't be fetched, the answer is
503, and the log says \`keys_unavailable\`.

## Retries

A key must be remembered for longer than the provider retries (\`DEDUPE_DAYS\`, 30 by default), so a receiver of Adyen's events needs
31, and one of Xero's 32.

Many providers stop after a 4xx, so a mistake of ours is answered 503 wherever it is noticed. Sentry doesn't try again after a 503 either.
Deliveries that are sent again by hand after \`DEDUPE_DAYS\` are new events.

## Batches

A batch may contain ${MAX_EVENTS.toLocaleString('en')} events and ${sizeOf(MAX_BATCH_BYTES)}, which is more than any of these providers documents. The bytes are
counted as the claim sends them: a quote or a backslash counts as four. A larger batch is answered 400, and the log gives the reason.

## Handshakes and answers

**A verify token** (Meta) is \`<SOURCE>_VERIFY_TOKEN\`: a text of your choice that you also enter in Meta's settings. Don't use
the app's secret for it, because the token is sent in a URL.

**A public URL** is part of what Square, Twilio and HubSpot sign, exactly as it is configured there. If the Worker sees another
URL (behind a proxy, for example), the source must name it: \`url: 'https://hooks.example.com/webhooks/square'\`.

## A secret that the provider sends

Notion and Asana send their secret, unsigned. It is accepted only while the source has \`awaitsSecret: true\`, and is logged encrypted, because nothing
unverified is stored:

1. Set \`<SOURCE>_WEBHOOK_SECRET\` to a random text (\`openssl rand -hex 32\`), add \`awaitsSecret: true\`, and deploy.
2. Create the webhook. The receiver's log shows the secret, encrypted with that random text: \`"sealed":"…"\`.
3. \`<SOURCE>_WEBHOOK_SECRET=<the random text> npm run ops -- unseal <source> <sealed>\` decrypts it.
4. Set \`<SOURCE>_WEBHOOK_SECRET\` to the decrypted secret, remove \`awaitsSecret\`, and deploy.

Until step 4 anybody could send a secret, so use the one that was logged when you created the webhook. An event that
arrives before step 4 is answered 401, and the provider sends it again.

## Limits worth knowing

Limits of a single provider are in its section.

- Airtable, Dropbox, Supabase and Awardee sign neither an id nor a time, and two of their events may have the same body. Somebody who
  captured a delivery can send it again without limit. The same holds for GitHub's \`workflow_dispatch\`,
  \`repository_dispatch\`, \`membership\`, \`organization\` and \`org_block\`, for Shopify's Events and \`product_listings/remove\`, for WooCommerce's \`action.*\` and for WhatsApp's errors.
- A token (Postmark, Chargebee, Auth0, Mollie classic, Telegram, Supabase, Microsoft Graph, GitLab's older secret token,
  RevenueCat's authorization header) proves who sent a delivery, but not what it contains. Anyone who has seen the token can send any body.
- A Worker has 128 MB for all deliveries that it handles at the same time, and holds each body several times.

## Not supported

| sender | why |
| --- | --- |
| Adyen platform and management webhooks | the name of the signature's header is not confirmed |
| Mailgun's routes, SendGrid's Inbound Parse | send mail as a multipart form |
| Twilio by GET | only POST is accepted: choose it in Twilio's settings |
| DocuSign's XML, Cal.com's form templates | ids are read from JSON: choose JSON, and leave the template empty |
| GitHub's content type \`application/x-www-form-urlencoded\` | answered 400, and never sent again: choose \`application/json\` |
| HubSpot signatures v1 and v2 | plain hashes of secret and body, replaced by v3 |
| Jira's webhooks of Connect, Forge and OAuth apps | are not signed by a secret: let an administrator register a webhook |
| Slack commands and buttons, Discord interactions | they need an answer at once, and handlers run after the answer |
`;
}

/** The section of a provider. Each has the same lines in the same order, without those that have no value. */
function sectionOf(provider: Provider): string {
  const { name, docs, id, type, occurredAt = [], batch, handshakes = [], ack, maxBytes } = provider;
  const { facts } = proofOf(name);
  const schemes = [provider.scheme, ...(provider.otherSchemes ?? [])];
  const limit = factOf(facts.limit);
  const notFound = (facts.notFound ?? []).map((field) => wordsOf[field]).join(', ');
  const lines = {
    signature: schemes.map(signatureOf),
    covers: schemes.map(coverOf),
    key: schemes.map(keyFormOf),
    window: windowOf(provider.scheme),
    id: `${id.signed ? '' : 'not '}signed, ${firstOf([id.at].flat())}`,
    'replay key': replayKeyOf(provider),
    type: type.map(code).join(' or '),
    'happened at': [occurredAt].flat().map(({ at, unit }) => `${[at].flat().map(code).join(' or ')} (${unit})`),
    'several events': batch ? batch.each.map(code).join(', ') + (batch.lines ? ' or JSON Lines' : '') : '',
    handshake: handshakes.map(handshakeOf),
    answer: ack ? replyOf(ack) : '',
    'largest body': maxBytes ? sizeOf(maxBytes) : '',
    retries: retriesOf(facts),
    'retries end with': factOf(facts.ends),
    'time limit': limit === null ? '' : `${limit} s`,
    'again by hand': factOf(facts.byHand ?? ''),
    'the same event': factOf(facts.same),
    'worth knowing': facts.limits?.join(' ') ?? '',
    'not certain': [facts.open ?? [], notFound ? `not found again: ${notFound}` : []].flat().join('. '),
    'looked up': facts.read ?? '',
    'proved by': provedBy(name),
  };
  const list = Object.entries(lines).flatMap(([label, value]) => {
    const text = [...new Set([value].flat())].join(' or ');
    return text === '' ? [] : `- **${label.charAt(0).toUpperCase()}${label.slice(1)}**: ${text}`;
  });
  return [`### ${name}`, '', docs.startsWith('https://') ? `[Documentation](${docs})` : docs, '', ...list].join('\n');
}

function firstOf(templates: readonly string[]): string {
  return templates.length === 1 ? templates.map(code).join() : ['the first of', ...templates.map(code)].join('\n  - ');
}

/** The time from the first attempt to the last one. */
function retriesOf({ retries }: Facts): string {
  const hours = factOf(retries);
  if (hours === null) return '';
  if (hours === 0) return 'none, or at once';
  if (hours < 1) return `for ${Math.round(hours * 60)} minutes`;
  if (hours === 1) return 'for an hour';
  return hours < 48 ? `for ${hours} hours` : `for ${Math.round(hours / 2.4) / 10} days`;
}

function signatureOf(scheme: Scheme): string {
  if (scheme.token !== undefined) {
    const where = `${code(scheme.token)}${scheme.perItem ? ' of each item' : ''}`;
    return `${scheme.basic ? 'Basic authentication' : 'token'} in ${where}`;
  }
  if (scheme.check !== undefined) return `${algorithmOf(scheme)}, in ${code(scheme.signature)}`;
  const places = [scheme.signature].flat();
  const [first = ''] = places;
  return `${algorithmOf(scheme)}, ${scheme.encoding}, in ${code(first)}${places.length > 1 ? ` ${places.length > 2 ? 'to' : 'or'} ${code(places.at(-1) ?? '')}` : ''}${
    scheme.perItem ? ' of each item' : ''
  }`;
}

function algorithmOf(scheme: Exclude<Scheme, Token>): string {
  if (scheme.check !== undefined) return scheme.kind === 'jose' ? `JWS (${scheme.algorithm})` : 'RSA-SHA256';
  const { algorithm = 'hmac-sha256' } = scheme;
  const names = {
    'hmac-sha256': 'HMAC-SHA256',
    'hmac-sha384': 'HMAC-SHA384',
    'hmac-sha512': 'HMAC-SHA512',
    'hmac-sha1': 'HMAC-SHA1',
    ed25519: 'Ed25519',
    'ecdsa-p256-der': 'ECDSA P-256',
  };
  return names[algorithm];
}

function coverOf(scheme: Scheme): string {
  if (scheme.token !== undefined) return 'nothing';
  if (scheme.check !== undefined) return claimsOf(scheme);
  const hashed = scheme.bodyHash ? `, or ${code(scheme.bodyHash)} for the body` : '';
  return (typeof scheme.signed === 'string' ? code(scheme.signed) : scheme.signed.words) + hashed;
}

function keyFormOf(scheme: Scheme): string {
  if (scheme.token !== undefined) return scheme.basic ? '`user:password`' : 'as text';
  if (scheme.check !== undefined) return keysOf(scheme);
  const how = scheme.key === 'utf8' ? 'as text' : scheme.key;
  if (!scheme.keyPrefix) return how;
  return hasPair(scheme)
    ? `${how} after ${code(scheme.keyPrefix)}`
    : `${how}, with or without ${code(scheme.keyPrefix)}`;
}

function claimsOf(scheme: Jose | CertificateScheme): string {
  const demanded = (scheme.claims ?? []).flatMap(({ at, is, like, optional }) =>
    like
      ? []
      : [
          [at].flat().map(code).join(' or ') +
            (is === undefined ? '' : ` is ${code(is)}${optional ? ', or absent' : ''}`),
        ],
  );
  return [coveredBy(scheme), demanded.length === 0 ? [] : `It must say: ${demanded.join(', ')}`].flat().join('. ');
}

function coveredBy(scheme: Jose | CertificateScheme): string {
  if (scheme.kind === 'certificate') {
    return scheme.signed.map(({ text }) => code(text.replaceAll('\n', '⏎'))).join(' or ');
  }
  const { isEvent, bodyHash } = scheme;
  return isEvent ? 'the event' : bodyHash ? `the body, by its hash in ${code(bodyHash)}` : 'nothing';
}

function keysOf(scheme: Jose | CertificateScheme): string {
  if (scheme.kind === 'jose' && 'secret' in scheme.keys) return 'as text';
  const { settings = {} } = scheme;
  const where =
    scheme.kind === 'certificate'
      ? `the certificate of ${code(scheme.certificate)}, from ${scheme.from.map(code).join(' or ')}`
      : 'jwks' in scheme.keys
        ? `the key set at ${code(scheme.keys.jwks)}`
        : 'post' in scheme.keys
          ? `asked for by its id at ${code(scheme.keys.post)}`
          : 'of a chain of certificates in the token, which ends at a pinned root';
  const words = Object.keys(settings).map((name) => `<${name}>`);
  return `${where}. The secret is ${code(words.join(' '))}`;
}

function windowOf(scheme: Scheme): string {
  if (scheme.token !== undefined || !scheme.timestamp) return '';
  const { windowSeconds, unit } = scheme.timestamp;
  return `${windowSeconds < 3600 ? `${windowSeconds} s` : `${windowSeconds / 3600} h`} (${unit})`;
}

function replayKeyOf({ id }: Provider): string {
  const { replayKey, signed, bodiesRepeat = [] } = id;
  const key = replayKey ? [replayKey].flat().map(code).join(' or ') : signed || bodiesRepeat === true ? '' : 'the body';
  const unless = bodiesRepeat === true ? [] : bodiesRepeat.map((all) => all.map(conditionOf).join(' and '));
  return [key, ...unless].join(', unless ');
}

function conditionOf({ at, is, like }: Condition): string {
  if (is !== undefined) return `${code(at)} is ${code(is)}`;
  return like === undefined ? `there is ${code(at)}` : `${code(at)} matches ${code(like.source)}`;
}

function handshakeOf({ method, when, signed, verifyToken, handsOver, calls, reply }: Handshake): string {
  const conditions = [
    ...when.map(conditionOf),
    ...(verifyToken ? [`${code(verifyToken)} equals the verify token`] : []),
    ...(handsOver ? ['only while the source awaits a secret'] : []),
    ...(calls ? [`only while the source awaits a confirmation, and after a call of ${code(calls)}`] : []),
  ];
  return `${method}, ${signed ? 'signed' : 'unsigned'}: ${conditions.join(', ')} → ${replyOf(reply)}`;
}

function replyOf({ status, text, json, headers = {} }: Reply): string {
  const named = Object.entries(headers).map(([name, value]) => code(`${name}: ${value}`));
  const body = json ? code(JSON.stringify(json)) : text === undefined ? 'no body' : code(text);
  return [String(status), body, ...named].join(', ');
}

function sizeOf(bytes: number): string {
  return bytes < 1024 * 1024 ? `${bytes / 1024} KiB` : `${bytes / 1024 / 1024} MiB`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function code(text: string): string {
  return `\`${text}\``;
}
