import { type Proof, said } from './proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-20',
    from: 'developers.hubspot.com/docs/api-reference/webhooks-webhooks-v3/guide',
    signature: said(
      'hmac-sha256 base64 at header:x-hubspot-signature-v3',
      'HubSpot/hubspot-api-nodejs src/utils/signature.ts',
    ),
    covers: said(
      '{method}{url}{body}{header:x-hubspot-request-timestamp}',
      'HubSpot/hubspot-api-nodejs src/utils/signature.ts',
    ),
    key: 'text',
    window: said('300 s, in ms', 'HubSpot/hubspot-api-nodejs src/utils/signature.ts'),
    id: said(
      'eventId + portalId? + subscriptionId + objectId? + occurredAt? + propertyName? + messageId? + associationType? + associationTypeId? + fromObjectId? + toObjectId? + isPrimaryAssociation? + associationRemoved?',
      'developers.hubspot.com: the generic subscriptions, and "eventId is not guaranteed to be unique"',
    ),
    isIdSigned: true,
    type: 'subscriptionType / eventType',
    time: 'occurredAt (ms)',
    batch: '*',
    limit: 5,
    retries: 24,
    ends: "any 2xx, or the tenth retry. Today's page says that every 4xx and 5xx is tried again; an older one and HubSpot staff said that 400, 401, 403, 404 and 405 are not",
    same: 'event, account, subscription, object, time, property and association. attemptNumber, which is in the body, differs',
    limits: [
      'HubSpot decodes some escapes of the URL before it signs (`%3A`, `%2F` and others, says its page; its SDK does not). Choose a URL without escapes.',
    ],
    open: 'whether a retry is signed with a new time. The page on webhooks names signature v1 alone; recorded deliveries have v3 as well (hookdeck/webhook-samples)',
  },
  pairs: {
    source: 'developers.hubspot.com/docs/api/webhooks, generic subscriptions',
    body: [
      {
        eventId: 3816279480,
        subscriptionId: 22,
        portalId: 33,
        occurredAt: 1462216307945,
        subscriptionType: 'contact.associationChange',
        attemptNumber: 0,
        fromObjectId: 1,
        toObjectId: 2,
        associationRemoved: false,
        isPrimaryAssociation: false,
      },
    ],
    events: [
      ['3816279480:33:22::1462216307945::::1:2:false:false', 'contact.associationChange', '2016-05-02T19:11:47.945Z'],
    ],
    apart: {
      'a primary association, which sends two messages': { values: { '0.isPrimaryAssociation': true } },
      'two associations of one contact in one millisecond': { values: { '0.toObjectId': 3 } },
      'an association that is removed in the same millisecond': { values: { '0.associationRemoved': true } },
      'two accounts whose objects have equal ids': { values: { '0.portalId': 34 } },
      'one change that two subscriptions ask for': { values: { '0.subscriptionId': 23 } },
      'two objects that are created at once': {
        body: [{ eventId: 1, subscriptionId: 2, objectId: 3, subscriptionType: 'contact.creation' }],
        events: [['1::2:3::::::::', 'contact.creation', null]],
        values: { '0.objectId': 4 },
      },
      'a message of a conversation, with every field that there is, and the next one': {
        body: [
          {
            eventId: 1,
            portalId: 2,
            subscriptionId: 3,
            objectId: 4,
            occurredAt: 1462216307945,
            propertyName: 'p',
            messageId: 'm',
            associationType: 'CONTACT_TO_DEAL',
            associationTypeId: 5,
            fromObjectId: 6,
            toObjectId: 7,
            isPrimaryAssociation: true,
            associationRemoved: false,
            eventType: 'conversation.newMessage',
          },
        ],
        events: [
          [
            '1:2:3:4:1462216307945:p:m:CONTACT_TO_DEAL5:6:7:true:false',
            'conversation.newMessage',
            '2016-05-02T19:11:47.945Z',
          ],
        ],
        values: { '0.messageId': 'n' },
      },
      'two properties of one contact, changed at once': {
        body: [{ eventId: 1, subscriptionId: 2, objectId: 123, occurredAt: 1462216307945, propertyName: 'email' }],
        events: [['1::2:123:1462216307945:email::::::', null, '2016-05-02T19:11:47.945Z']],
        values: { '0.propertyName': 'phone' },
      },
    },
    same: { 'a retry, which counts its attempts': { values: { '0.attemptNumber': 1 } } },
  },
  vectors: [
    {
      id: 'hubspot/v3',
      origin: 'generated-with-official-sdk',
      source: '@hubspot/api-client@13.5.0',
      secret: 'yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy',
      method: 'POST',
      url: 'https://www.example.com/webhook_uri',
      headers: {
        'x-hubspot-signature-v3': 'rmvLzpv8m9QbrZxZvhDncqcDPmo8nZyXeoyrW5ZA/m4=',
        'x-hubspot-request-timestamp': '1614265330330',
      },
      body: '[{"eventId":1,"subscriptionId":12345,"portalId":62515,"occurredAt":1564113600000,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":123,"changeSource":"CRM","changeFlag":"NEW","appId":54321}]',
      nowSeconds: 1614265330,
    },
  ],
};
