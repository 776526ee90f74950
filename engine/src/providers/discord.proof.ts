import { type Proof, said } from './proof.ts';

export const proof: Proof = {
  sdk: { sdk: 'discord-interactions', signs: false },
  facts: {
    read: '2026-11-19',
    from: 'discord/discord-api-docs developers/events/webhook-events.mdx',
    signature: said('ed25519 hex at header:x-signature-ed25519', 'discord/discord-interactions-js src/index.ts'),
    covers: '{header:x-signature-timestamp}{body}',
    key: 'hex',
    window: said('900 s, in s', 'no tolerance is documented; longer than the retries'),
    id: 'content',
    isIdSigned: true,
    type: 'event.type',
    time: 'event.timestamp (iso)',
    handshake: 'POST signed → 204',
    answer: '204 empty',
    limit: 3,
    retries: said(0.17, '"several times" within ten minutes'),
    ends: '204. Discord stops sending to an app that fails too often. It also sends wrong signatures, and removes a URL that does not answer 401',
    same: 'the content, which contains the time in microseconds',
  },
  handshakes: [
    {
      body: '{"version":1,"application_id":"1","type":0}',
      signed: true,
      reply: { status: 204 },
      unlike: [['\\"type\\":0', '\\"type\\":1']],
    },
  ],
  ack: { status: 204 },
  accepts: { seconds: 900 },
  pairs: {
    source: 'docs.discord.com/developers/events/webhook-events',
    body: {
      type: 1,
      event: {
        type: 'ENTITLEMENT_CREATE',
        timestamp: '2024-10-18T18:41:21.109604',
        data: { id: '1234505980407808808' },
      },
    },
    events: [['content', 'ENTITLEMENT_CREATE', '2024-10-18T18:41:21.109Z']],
    apart: { 'two purchases in one microsecond': { values: { 'event.data.id': '1234505980407808809' } } },
  },
  vectors: [
    {
      id: 'discord/webhook-ping',
      origin: 'computed-then-accepted-by-official-sdk',
      source:
        'discord-interactions@4.4.0 (Ed25519 is deterministic; signed with node:crypto using the published Svix test key, accepted by SDK)',
      publicKey: 'd52880e28f61caa4c2a48a82e55f4751a92289a78009ea9f6532270c16ce8abe',
      headers: {
        'x-signature-ed25519':
          '85fb066101abf20cc9aa4b987a75be76a7e6843e4c1130c2df00d1f950485ce137669ee0b264e131adfcfdcaac667c85cf651583db0938b645527d5bb8a53a0a',
        'x-signature-timestamp': '1614265330',
      },
      body: '{"version":1,"application_id":"1234560123453231555","type":0}',
      nowSeconds: 1614265330,
    },
  ],
};
