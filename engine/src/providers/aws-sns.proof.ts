import { type Proof, said } from './proof.ts';

const SNS_DOCS = 'docs.aws.amazon.com/sns/latest/dg';
const TOPIC = 'arn:aws:sns:us-east-1:123456789012:sample';

const notification = (details: object) => ({
  Type: 'Notification',
  MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
  TopicArn: TOPIC,
  Message: 'Hello world!',
  Timestamp: '2026-03-01T11:58:00.000Z',
  ...details,
});

const CONFIRM = `https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${TOPIC}&Token=2336412f37`;
const MESSAGE = 'Message\n{json:Message}\nMessageId\n{json:MessageId}\n';
const END = 'TopicArn\n{json:TopicArn}\nType\n{json:Type}\n';

export const proof: Proof = {
  sdk: { sdk: 'sns-validator', signs: false },
  facts: {
    read: '2026-11-20',
    from: `${SNS_DOCS}/sns-verify-signature-of-message.html, ${SNS_DOCS}/sns-message-and-json-formats.html`,
    signature: 'rsa-sha256 base64 at json:Signature',
    covers: said(
      `${MESSAGE}Subject\n{json:Subject}\nTimestamp\n{json:Timestamp}\n${END} / ${MESSAGE}Timestamp\n{json:Timestamp}\n${END} / ${MESSAGE}SubscribeURL\n{json:SubscribeURL}\nTimestamp\n{json:Timestamp}\nToken\n{json:Token}\n${END}; TopicArn = {topic}; SignatureVersion = 2; MessageId like ^[\\w-]+$; Subject like ^[^\\n]*$; SubscribeURL like ^\\S+$; Token like ^\\w+$`,
      `${SNS_DOCS}/sns-verify-signature-of-message-verify-message-signature.html; "Reject any message with an unexpected TopicArn"; npm sns-validator index.js`,
    ),
    key: said(
      'certificate of json:SigningCertURL, from https://sns.{region}.amazonaws.com/SimpleNotificationService-*.pem or https://sns.{region}.amazonaws.com.cn/SimpleNotificationService-*.pem',
      'aws/aws-sdk-java-v2 services-custom/sns-message-manager: CertificateUrlValidator.java (the host of the region); npm sns-validator (.cn)',
    ),
    window: said(
      '86400 s, in iso',
      `${SNS_DOCS}/sns-message-delivery-retries.html: an hour, and a policy may slow it down`,
    ),
    id: said(
      'MessageId',
      `${SNS_DOCS}/SendMessageToHttp.prepare.html: a retry has "the message ID of the original message"`,
    ),
    isIdSigned: true,
    type: said(
      'eventType / notificationType / Records.eventName / Type',
      'docs.aws.amazon.com/ses/latest/dg/notification-contents.html, event-publishing-retrieving-sns-contents.html; docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html',
    ),
    time: 'Timestamp (iso)',
    handshake: 'POST signed → 200',
    limit: null,
    retries: said(
      1,
      `${SNS_DOCS}/sns-message-delivery-retries.html: 3 retries, 20 s apart; at most 3,600 s by a policy`,
    ),
    largest: said(512, 'a message has at most 256 KiB, and escapes'),
    ends: '2xx, or the last retry. A message is then gone, unless the subscription has a dead-letter queue',
    same: 'the id of the message',
    limits: [
      'The secret is the ARN of the topic: anybody can have SNS sign messages of their own topic.',
      'Set the topic’s `SignatureVersion` to 2 (`aws sns set-topic-attributes`), because version 1, the default, signs a SHA-1. Leave raw message delivery off: it signs nothing.',
      'To subscribe, set `awaitsConfirmation: true` on the source and deploy, create the subscription, then remove it again. The log says `handshake`. Without it, the confirmation is stored as an event of its own type.',
      '`MessageAttributes` and `UnsubscribeURL` are not signed.',
    ],
    open: 'how long it waits for an answer; whether a 4xx ends the retries; whether the certificate is that of SNS is known from its host alone; the isolated regions and the European sovereign cloud have other hosts',
  },
  handshakes: [
    {
      body: JSON.stringify({
        ...notification({ Message: 'You have chosen to subscribe.\nTo confirm, visit the SubscribeURL.' }),
        Type: 'SubscriptionConfirmation',
        Token: '2336412f37',
        SubscribeURL: CONFIRM,
      }),
      signed: true,
      calls: CONFIRM,
      reply: { status: 200 },
      unlike: [
        ['SubscriptionConfirmation', 'UnsubscribeConfirmation'],
        ['https://sns.us-east-1.amazonaws.com/?', 'https://sns.us-east-1.amazonaws.com.example.com/?'],
        ['https://sns.us-east-1.amazonaws.com/?', 'http://sns.us-east-1.amazonaws.com/?'],
      ],
    },
  ],
  accepts: { seconds: 86_400 },
  pairs: {
    source: `${SNS_DOCS}/sns-message-and-json-formats.html`,
    body: (now) => notification({ Timestamp: now.toISOString() }),
    events: [['22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324', 'Notification', '2026-03-01T11:59:00.000Z']],
    apart: {
      'two messages with the same content': { values: { MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf325' } },
      'two events of SES': {
        body: (now) => notification({ Timestamp: now.toISOString(), Message: '{"eventType":"Bounce"}' }),
        events: [['22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324', 'Bounce', '2026-03-01T11:59:00.000Z']],
        values: { MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf325' },
      },
      'two notifications of SES': {
        body: (now) => notification({ Timestamp: now.toISOString(), Message: '{"notificationType":"Complaint"}' }),
        events: [['22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324', 'Complaint', '2026-03-01T11:59:00.000Z']],
        values: { MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf325' },
      },
      'two objects of S3': {
        body: (now) =>
          notification({ Timestamp: now.toISOString(), Message: '{"Records":[{"eventName":"ObjectCreated:Put"}]}' }),
        events: [['22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324', 'ObjectCreated:Put', '2026-03-01T11:59:00.000Z']],
        values: { MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf325' },
      },
    },
  },
  vectors: [
    {
      id: 'aws-sns/sdk-ruby',
      origin: 'official-sdk-test',
      source: 'aws/aws-sdk-ruby gems/aws-sdk-sns/spec/message_verifier_spec.rb',
      note: 'the key is that of the certificate in the same test',
      secret:
        'arn:aws:sns:us-east-2:295079676684:publish-and-verify-62674b1d-4295-426b-88e7-5fb75652a04e key:MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAutFqueT3XgP13udzxE6UpbdjOtVO5DwoMpSMiDNMnGzF1TYH5/R2LPUOBeTB0SkKnR4kpNcUZhicpGD4aKciz/GEZ6wu65xncfT9H/KBOQwoXYTuClHwp6fYpGzcGFaFoEYMnijL/o4qmTSd+ukglQUgKpsDw4ofw6rUm2CttJo+GQSNQ9NfGR1h/0J+zsApkeSYrXRx5wNlu87z8os1C/6PBrUHwt3xXeafXzfwut8aRRYsS8BySOA9DAgLfNHlfdQCjKPXKrG/ussgReyWD6n/HH+j7Uha3xosTzQqJifcxlTq6MxWdPR6fDaJNvqw6DOE7UjUNxHguXHlVfxhlQIDAQAB',
      headers: {},
      body: '{"Type":"Notification","MessageId":"17dea24b-55c2-540b-8362-f916557af765","TopicArn":"arn:aws:sns:us-east-2:295079676684:publish-and-verify-62674b1d-4295-426b-88e7-5fb75652a04e","Message":"Hello world","Timestamp":"2022-07-28T21:24:08.324Z","SignatureVersion":"2","Signature":"CXVqp9PfZAL+4JHS3Zxo1PFbQsvnOjvmYhtIf17TWpwc+iIVas8kZ8GopuzVzVMdatE7rCl/O4P91Zp05Dwz8lk8dLhfp8gSu3Njlzxlyrmzo9x3va3Jb7zFnedgS2GKnZWHGBdwTXho+TosNUE+3e10OMSlwN5XGDwX7+R3WL+rn+AXmFAqp3alg27sYa55h1dLE9cGszGPjScPdtF3BmZsUDMx9wSdNKsCk+vSvE8yBjnCmUl7laSFj3LzPVrlSwgNYCF3kYnNAkah7NplK4SFhJYLwS0HCVCQJKa8rVbQLf9cBTu60U402mrgy0bN8xWoyimzbYbrOMJjalqkUg==","SigningCertURL":"https://sns.us-east-2.amazonaws.com/SimpleNotificationService-7ff5318490ec183fbaddaa2a969abfda.pem"}',
      nowSeconds: 1659043448,
    },
    {
      id: 'aws-sns/php-with-subject',
      origin: 'official-sdk-test',
      source: 'aws/aws-php-sns-message-validator tests/FunctionalValidationsTest.php',
      note: 'the key is that of the certificate in the same test',
      secret:
        'arn:aws:sns:us-east-2:295079676684:publish-and-verify-530b26da-0687-4fe4-9f71-780bad3181e2 key:MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAutFqueT3XgP13udzxE6UpbdjOtVO5DwoMpSMiDNMnGzF1TYH5/R2LPUOBeTB0SkKnR4kpNcUZhicpGD4aKciz/GEZ6wu65xncfT9H/KBOQwoXYTuClHwp6fYpGzcGFaFoEYMnijL/o4qmTSd+ukglQUgKpsDw4ofw6rUm2CttJo+GQSNQ9NfGR1h/0J+zsApkeSYrXRx5wNlu87z8os1C/6PBrUHwt3xXeafXzfwut8aRRYsS8BySOA9DAgLfNHlfdQCjKPXKrG/ussgReyWD6n/HH+j7Uha3xosTzQqJifcxlTq6MxWdPR6fDaJNvqw6DOE7UjUNxHguXHlVfxhlQIDAQAB',
      headers: {},
      body: '{"Type":"Notification","MessageId":"4504e649-d933-5aa9-8199-bd14ccf05f0b","TopicArn":"arn:aws:sns:us-east-2:295079676684:publish-and-verify-530b26da-0687-4fe4-9f71-780bad3181e2","Subject":"Hello world","Message":"Hello world","Timestamp":"2022-07-28T22:53:55.086Z","SignatureVersion":"2","Signature":"cETcSvmmkt+My05qCLKexyl0+RyG83mSryKPqTfS+tYcxDJWVcjPJAr+qdpElzVaBl1aTGYVWMY64i9JqZ/JES8pylNj8LGvdhuNQKO59/WCoIimZAsNhn0xEgOeeDU+W/0BU4sdpCGMNjo0S/FuIiWaRe4E0YWRVrxeQevaQ70euDdfWgd5v1eCKQz8b367b9XBmMztL/CWUFI6YaKK/MV21eyvJe3Y7CtVYiOKEYiAZnAEkynK7gUGO5TsgDjGNYhj6U3xYsWgI03bmioSl7kdFSUj+AZ7ugas5fghqxgoDsdfqsjMYKRm5KKHQWsgzI619yIzpNKUiSMHxdZXpQ==","SigningCertURL":"https://sns.us-east-2.amazonaws.com/SimpleNotificationService-7ff5318490ec183fbaddaa2a969abfda.pem"}',
      nowSeconds: 1659048835,
    },
    {
      id: 'aws-sns/sdk-java-confirmation',
      origin: 'official-sdk-test',
      source: 'aws/aws-sdk-java-v2 services-custom/sns-message-manager: test-unsubscribe-confirmation.json',
      note: 'the key is that of the certificate in the same test',
      secret:
        'arn:aws:sns:us-west-2:131990247566:dongie-standard-topic key:MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAoW1TUPgxGk+Vjfpfm4NIhHheuumeiwxXNSia+JTZdKHXF0ErJCrGWAjFXaeCPyJJPc1snJEUzJJkBmIpqQ/m07DAj+Qv7CSFNBPWNjl445eVYnXpKqp0S/VXROTeNUb5LO0v+TKWHEpgrJmh38HL/Nhr8ds5vQqwOV7uytmaoc0UDwkUj5h0x0K+BA+t7oxPqk6T4EGdE74JnKwHNPGe+We2c7Ne2kzXN2IQLUMfVqMDfLoh5JIHPjjTXbcCr1mTZp25sTB2LWHNvdVgj9StTYeE1eVzcoyHm80Cg66kwjdCLQK9cXugZdwWEt0hvVxwMtKt3pCE80LCsqXLmiunUwIDAQAB',
      headers: {},
      body: '{"Type":"UnsubscribeConfirmation","MessageId":"0b71e34e-42c3-486a-9e32-b1928ec994b5","Token":"2336412f37fb687f5d51e6e2425929f52e8e353134fd0284eae5672847af082a982c7dd18215a1485e04e559716f8b42054594757f42dee2d63c46fd3a0fa59b4d688de03db956f8bf9f8cb3167587a28b74c5d325e6a7594d24a43ac534de2dfca614ca89cebd490342c721c30a76ea03def13673437a6a3e450642580119d0","TopicArn":"arn:aws:sns:us-west-2:131990247566:dongie-standard-topic","Message":"You have chosen to deactivate subscription arn:aws:sns:us-west-2:131990247566:dongie-standard-topic:b24e11a2-06bd-4e73-aa29-0ed2de3b41b5.\\nTo cancel this operation and restore the subscription, visit the SubscribeURL included in this message.","SubscribeURL":"https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:us-west-2:131990247566:dongie-standard-topic&Token=2336412f37fb687f5d51e6e2425929f52e8e353134fd0284eae5672847af082a982c7dd18215a1485e04e559716f8b42054594757f42dee2d63c46fd3a0fa59b4d688de03db956f8bf9f8cb3167587a28b74c5d325e6a7594d24a43ac534de2dfca614ca89cebd490342c721c30a76ea03def13673437a6a3e450642580119d0","Timestamp":"2026-03-06T20:02:25.038Z","SignatureVersion":"2","Signature":"RLW/cGWZAdY96iEcvXGmAZQ851DUyWehJIUMHT3Qa0/kX7Wu2QimI44TfE8d9hTqyYFreA6ln4AS67m225DuySpBeiUBtzB/ibiU7jdZmfSiT/I/RTEU3eD0lHHZIYW0M7HAlhHyaSXdcSAbtfnhMBMION93IVl6UOR4kWYdJaJ17/u3by3zlSRs8wCIpj06S6BzuzxrINZPJl+NKZYCVdMlrjuT4etX/UfZkC0Tjchpmu/CQcuimAgswlesm8cVue0WqNPXkOr8h7HmsiGVXPN1jjkYKf2/tVJyBxur/lSksMopER8wtAIsrqY1caAZSI8YJkIndg/b+7eCwkjTBA==","SigningCertURL":"https://sns.us-west-2.amazonaws.com/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem"}',
      nowSeconds: 1772827345,
    },
  ],
};
