import { certified } from '../verify/certificates.ts';
import { defineProvider } from './define.ts';

const topic = 'Timestamp\n{json:Timestamp}\nTopicArn\n{json:TopicArn}\nType\n{json:Type}\n';

export const awsSns = defineProvider({
  name: 'aws-sns',
  docs: 'https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html',
  scheme: certified({
    signature: 'json:Signature',
    // SNS signs messages for anybody's topics, so only the topic proves that a message is yours.
    settings: { topic: /^arn:aws[a-z-]*:sns:(?<region>[a-z]+(-[a-z0-9]+)+):\d{12}:[\w-]{1,256}(\.fifo)?$/ },
    certificate: 'json:SigningCertURL',
    from: [
      'https://sns.{region}.amazonaws.com/SimpleNotificationService-*.pem',
      'https://sns.{region}.amazonaws.com.cn/SimpleNotificationService-*.pem',
    ],
    claims: [
      { at: 'json:TopicArn', is: '{topic}' },
      // Version 1, the default of a topic, signs with SHA-1, so it is refused.
      { at: 'json:SignatureVersion', is: '2' },
      // Only the message may contain line breaks, and the time must be a time. Otherwise the signed text could be split
      // into different values.
      { at: 'json:MessageId', like: /^[\w-]+$/ },
      { at: 'json:Subject', like: /^[^\n]*$/, optional: true },
      { at: 'json:SubscribeURL', like: /^\S+$/, optional: true },
      { at: 'json:Token', like: /^\w+$/, optional: true },
    ],
    signed: [
      {
        when: [{ at: 'json:Type', is: 'Notification' }, { at: 'json:Subject' }],
        text: `Message\n{json:Message}\nMessageId\n{json:MessageId}\nSubject\n{json:Subject}\n${topic}`,
      },
      {
        when: [{ at: 'json:Type', is: 'Notification' }],
        text: `Message\n{json:Message}\nMessageId\n{json:MessageId}\n${topic}`,
      },
      {
        when: [{ at: 'json:Type', like: /^(Subscription|Unsubscribe)Confirmation$/ }],
        text: `Message\n{json:Message}\nMessageId\n{json:MessageId}\nSubscribeURL\n{json:SubscribeURL}\n${topic.replace('TopicArn\n', 'Token\n{json:Token}\nTopicArn\n')}`,
      },
    ],
    // SNS retries for an hour, or longer with a delivery policy.
    timestamp: { at: 'json:Timestamp', unit: 'iso', windowSeconds: 86_400 },
  }),
  id: { at: '{json:MessageId}', signed: true },
  // The type of an SES or S3 event, or otherwise SNS's own type: `Notification`.
  type: [
    '{inner:Message#eventType}',
    '{inner:Message#notificationType}',
    '{inner:Message#Records.0.eventName}',
    '{json:Type}',
  ],
  occurredAt: { at: 'json:Timestamp', unit: 'iso' },
  handshakes: [
    {
      method: 'POST',
      signed: true,
      when: [
        { at: 'json:Type', is: 'SubscriptionConfirmation' },
        {
          at: 'json:SubscribeURL',
          like: /^https:\/\/sns\.[a-z0-9-]+\.amazonaws\.com(\.cn)?\/\?Action=ConfirmSubscription&/,
        },
      ],
      calls: 'json:SubscribeURL',
      reply: { status: 200 },
    },
  ],
});
