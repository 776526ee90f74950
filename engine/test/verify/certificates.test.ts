import { createSign, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { awsSns } from '../../src/providers/aws-sns.ts';
import { paypal } from '../../src/providers/paypal.ts';
import { readPem } from '../../src/verify/x509.ts';
import { proofOf } from '../../workshop/proofs.ts';
import { AMAZON_2022, AMAZON_2026, PAYPAL_2015, selfSigned } from './certificates.ts';
import { verdictOn } from './deliveries.ts';

/** Nothing that one test has fetched is young enough for the next. */
let now = new Date('2026-03-01T12:00:00Z');
beforeEach(() => {
  now = new Date(now.getTime() + 10 * 86_400_000);
});
afterEach(() => vi.restoreAllMocks());

const answerWith = (pem: string, status = 200) =>
  vi.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response(pem, { status }));
const verified = { outcome: 'verified', secretIndex: 0 };

describe('a certificate', () => {
  it.each([
    ['Amazon’s of 2022', AMAZON_2022],
    ['Amazon’s of 2026', AMAZON_2026],
    ['PayPal’s of 2015', PAYPAL_2015],
  ])('is read as Node reads it: %s', (_whose, pem) => {
    const expected = new X509Certificate(pem);
    const found = readPem(pem);
    expect(Buffer.from(found?.publicKey ?? []).toString('hex')).toBe(
      expected.publicKey.export({ type: 'spki', format: 'der' }).toString('hex'),
    );
    expect([found?.notBefore, found?.notAfter]).toEqual([new Date(expected.validFrom), new Date(expected.validTo)]);
  });

  it('is not read if it is cut off or is something else', () => {
    for (const wrong of ['', '<html>', PAYPAL_2015.slice(0, 900), PAYPAL_2015.replace('MIIH', 'MIIX')]) {
      expect(readPem(wrong), wrong.slice(0, 40)).toBeUndefined();
    }
    expect(readPem(`<xml>${PAYPAL_2015}</xml>`)).toBeUndefined();
  });
});

/** Genuine deliveries, with the certificates that their senders used, at their own time. */
it.each([
  [awsSns, 'aws-sns/sdk-ruby', AMAZON_2022],
  [awsSns, 'aws-sns/php-with-subject', AMAZON_2022],
  [awsSns, 'aws-sns/sdk-java-confirmation', AMAZON_2026],
  [paypal, 'paypal/sdk-node', PAYPAL_2015],
])('a genuine delivery to $name is verified with the fetched certificate: %s', async (provider, id, pem) => {
  const vector = proofOf(provider.name).vectors?.find((one) => one.id === id);
  if (!vector) throw new Error(id);
  const [secret = ''] = vector.secret?.split(' key:') ?? [];
  const delivery = {
    method: 'POST',
    url: 'https://hooks.example.com/',
    headers: new Headers(vector.headers),
    body: new TextEncoder().encode(vector.body),
  };
  answerWith(pem);
  const at = new Date((vector.nowSeconds ?? 0) * 1000);
  expect(await verdictOn(provider, delivery, [secret], at)).toEqual(verified);
  expect(await verdictOn(provider, delivery, [secret], at)).toEqual(verified);
  expect(fetch).toHaveBeenCalledTimes(1);
});

const ours = generateKeyPairSync('rsa', { modulusLength: 2048 });
const attacker = generateKeyPairSync('rsa', { modulusLength: 2048 });
const YEAR = 365 * 86_400_000;
const certificateOf = (pair = ours, from = now.getTime() - YEAR, to = now.getTime() + YEAR) =>
  selfSigned(pair, new Date(from), new Date(to));

const TOPIC = 'arn:aws:sns:us-east-1:123456789012:ours';
const CERTIFICATE = 'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123.pem';

function sns(changed: object = {}, { key = ours.privateKey, after = {} } = {}) {
  const message: Record<string, unknown> = {
    Type: 'Notification',
    MessageId: 'one',
    TopicArn: TOPIC,
    Message: 'Hello',
    Timestamp: now.toISOString(),
    SignatureVersion: '2',
    SigningCertURL: CERTIFICATE,
    ...changed,
  };
  const names = ['Message', 'MessageId', 'Subject', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
  const text = names.map((name) => (message[name] === undefined ? '' : `${name}\n${message[name]}\n`)).join('');
  const Signature = createSign('sha256')
    .update(text)
    .sign(key.export({ type: 'pkcs8', format: 'pem' }), 'base64');
  return { ...message, Signature, ...after };
}

const checkSns = (message: object, secret = TOPIC) => {
  const body = new TextEncoder().encode(JSON.stringify(message));
  return verdictOn(
    awsSns,
    { method: 'POST', url: 'https://example.com/', headers: new Headers(), body },
    [secret],
    now,
  );
};

describe('a message from SNS, which signs for everybody', () => {
  it('is accepted from our topic', async () => {
    answerWith(certificateOf());
    expect(await checkSns(sns())).toEqual(verified);
    expect(await checkSns(sns({ Subject: 'Hi', Message: 'two\nlines' }))).toEqual(verified);
  });

  it.each([
    ['of another topic', { TopicArn: 'arn:aws:sns:us-east-1:999999999999:attacker' }, 'json:TopicArn'],
    ['with a SHA-1', { SignatureVersion: '1' }, 'json:SignatureVersion'],
    ['without a version', { SignatureVersion: undefined }, 'json:SignatureVersion'],
    ['with a line in its id', { MessageId: 'one\nTimestamp' }, 'json:MessageId'],
    ['with a line in its subject', { Subject: 'one\nTimestamp' }, 'json:Subject'],
  ])('is refused %s, without a request for its certificate', async (_what, changed, claim) => {
    answerWith(certificateOf());
    expect(await checkSns(sns(changed))).toEqual({ outcome: 'refused', reason: 'wrong claim', claim });
    expect(fetch).not.toHaveBeenCalled();
  });

  it.each([
    'https://attacker.example.com/SimpleNotificationService-0123.pem',
    'https://sns.us-east-1.amazonaws.com.attacker.example.com/SimpleNotificationService-0123.pem',
    'https://sns.us-east-1.amazonaws.com@attacker.example.com/SimpleNotificationService-0123.pem',
    'https://attacker.example.com/https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123.pem',
    'http://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123.pem',
    'https://sns.us-east-1.amazonaws.com:8443/SimpleNotificationService-0123.pem',
    'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123.pem',
    'https://sns.us-east-1.amazonaws.com/attacker/SimpleNotificationService-0123.pem',
    'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-../../attacker.pem',
    'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123.pem?x=1',
    'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-.pem',
    'https://sns.us-east-1.amazonaws.com/?Action=Attack&x=.pem',
    'https://s3.amazonaws.com/sns.us-east-1.amazonaws.com/SimpleNotificationService-0123.pem',
    '',
  ])('is refused with a certificate at %j, without a request to that host', async (SigningCertURL) => {
    answerWith(certificateOf(attacker));
    const message = sns({ SigningCertURL }, { key: attacker.privateKey });
    expect(await checkSns(message)).toMatchObject({ reason: 'wrong claim', claim: 'json:SigningCertURL' });
    expect(fetch).not.toHaveBeenCalled();
  });

  it('is refused if another key has signed it or if one of its values was changed', async () => {
    answerWith(certificateOf());
    const mismatch = { outcome: 'refused', reason: 'signature mismatch' };
    expect(await checkSns(sns({}, { key: attacker.privateKey }))).toEqual(mismatch);
    for (const after of [{ Message: 'other' }, { MessageId: 'two' }, { Subject: 'x' }, { Timestamp: '2026-03-02' }]) {
      expect(await checkSns(sns({}, { after })), JSON.stringify(after)).toEqual(mismatch);
    }
    // A notification is not signed as a confirmation, and the other way round.
    const confirmation = { Type: 'SubscriptionConfirmation', Token: 'abc', SubscribeURL: 'https://sns' };
    expect(await checkSns(sns(confirmation))).toEqual(verified);
    expect(await checkSns(sns(confirmation, { after: { Type: 'Notification' } }))).toEqual(mismatch);
    expect(await checkSns(sns(confirmation, { after: { Type: 'Other' } }))).toMatchObject({ outcome: 'refused' });
    expect(await checkSns(sns(confirmation, { after: { SubscribeURL: 'https://attacker' } }))).toEqual(mismatch);
  });

  it('can’t be split into different values, because each value after the message has one line', async () => {
    answerWith(certificateOf());
    const Message = `Hello\nMessageId\nforged\nTimestamp\n${now.toISOString()}\nTopicArn\n${TOPIC}\nType\nNotification`;
    const message = sns({ Message });
    expect(await checkSns(message)).toEqual(verified);
    const cuts = [
      { Message: 'Hello', MessageId: 'forged' },
      { Message: 'Hello', MessageId: Message.slice('Hello\nMessageId\n'.length) },
      { Message: Message.split('\nType')[0], Subject: 'Notification' },
    ];
    for (const cut of cuts) expect(await checkSns({ ...message, ...cut })).toMatchObject({ outcome: 'refused' });
  });

  it.each([
    ['has expired', -YEAR, -1000],
    ['is not valid yet', 1000, YEAR],
  ])('is refused if its certificate %s', async (_what, from, to) => {
    answerWith(certificateOf(ours, now.getTime() + from, now.getTime() + to));
    expect(await checkSns(sns())).toEqual({ outcome: 'refused', reason: 'certificate not valid' });
  });

  it('is answered 503 while its certificate can’t be fetched, whatever certificates strangers name', async () => {
    answerWith('', 500);
    const named = (n: number) => ({ SigningCertURL: CERTIFICATE.replace('0123', `${n}`) });
    for (let n = 0; n < 50; n++) {
      expect(await checkSns(sns(named(n), { key: attacker.privateKey }))).toMatchObject({
        outcome: 'keys_unavailable',
        host: 'sns.us-east-1.amazonaws.com',
        why: n === 0 ? 'status 500' : 'asked a moment ago',
      });
    }
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  it.each(['', TOPIC.replace(':sns:', ':sqs:'), `${TOPIC} more`, 'arn:aws:sns:us-east-1/x:123456789012:ours'])(
    'is not accepted with the secret %j',
    async (secret) => {
      answerWith(certificateOf());
      expect(await checkSns(sns(), secret)).toMatchObject({ outcome: 'refused' });
      expect(fetch).not.toHaveBeenCalled();
    },
  );
});

describe('a delivery from PayPal', () => {
  const SECRET = '9XL90610J3647323C api.paypal.com';
  const BODY = '{"id":"WH-1","event_type":"PAYMENT.SALE.COMPLETED"}';
  const send = (
    changed: Record<string, string> = {},
    { body = BODY, webhook = '9XL90610J3647323C', secret = SECRET } = {},
  ) => {
    const time = now.toISOString();
    const sign = createSign('sha256').update(`one|${time}|${webhook}|${crc32(BODY)}`);
    const headers = {
      'paypal-transmission-id': 'one',
      'paypal-transmission-time': time,
      'paypal-transmission-sig': sign.sign(ours.privateKey.export({ type: 'pkcs8', format: 'pem' }), 'base64'),
      'paypal-cert-url': 'https://api.paypal.com/v1/notifications/certs/CERT-1',
      'paypal-auth-algo': 'SHA256withRSA',
      ...changed,
    };
    const delivery = { method: 'POST', url: 'https://example.com/', headers: new Headers(headers) };
    return verdictOn(paypal, { ...delivery, body: new TextEncoder().encode(body) }, [secret], now);
  };

  it('is accepted for our webhook only', async () => {
    answerWith(certificateOf());
    expect(await send()).toEqual(verified);
    expect(await send({}, { webhook: 'ATTACKERSWEBHOOK' })).toMatchObject({ reason: 'signature mismatch' });
    expect(await send({}, { body: `${BODY} ` })).toMatchObject({ reason: 'signature mismatch' });
    expect(await send({ 'paypal-transmission-id': 'two' })).toMatchObject({ reason: 'signature mismatch' });
  });

  it.each([
    ['paypal-cert-url', 'https://api.sandbox.paypal.com/v1/notifications/certs/CERT-1'],
    ['paypal-cert-url', 'https://api.paypal.com.attacker.example.com/v1/notifications/certs/CERT-1'],
    ['paypal-cert-url', 'https://attacker.example.com/v1/notifications/certs/CERT-1'],
    ['paypal-cert-url', 'https://api.paypal.com/v1/notifications/certs/../../attacker'],
    ['paypal-auth-algo', 'SHA1withRSA'],
  ])('is refused with %s: %s, without a request for its certificate', async (name, value) => {
    answerWith(certificateOf());
    expect(await send({ [name]: value })).toEqual({
      outcome: 'refused',
      reason: 'wrong claim',
      claim: `header:${name}`,
    });
    expect(fetch).not.toHaveBeenCalled();
  });
});
