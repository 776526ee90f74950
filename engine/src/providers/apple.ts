import { jose } from '../verify/jose.ts';
import { x5c } from '../verify/x5c.ts';
import { defineProvider } from './define.ts';

/** Apple Root CA - G3, apple.com/certificateauthority. SHA-256: 63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179. */
const APPLE_ROOT_CA_G3 =
  'MIICQzCCAcmgAwIBAgIILcX8iNLFS5UwCgYIKoZIzj0EAwMwZzEbMBkGA1UEAwwSQXBwbGUgUm9vdCBDQSAtIEczMSYwJAYDVQQLDB1BcHBsZSBDZXJ0aWZpY2F0aW9uIEF1dGhvcml0eTETMBEGA1UECgwKQXBwbGUgSW5jLjELMAkGA1UEBhMCVVMwHhcNMTQwNDMwMTgxOTA2WhcNMzkwNDMwMTgxOTA2WjBnMRswGQYDVQQDDBJBcHBsZSBSb290IENBIC0gRzMxJjAkBgNVBAsMHUFwcGxlIENlcnRpZmljYXRpb24gQXV0aG9yaXR5MRMwEQYDVQQKDApBcHBsZSBJbmMuMQswCQYDVQQGEwJVUzB2MBAGByqGSM49AgEGBSuBBAAiA2IABJjpLz1AcqTtkyJygRMc3RCV8cWjTnHcFBbZDuWmBSp3ZHtfTjjTuxxEtX/1H7YyYl3J6YRbTzBPEVoA/VhYDKX1DyxNB0cTddqXl5dvMVztK517IDvYuVTZXpmkOlEKMaNCMEAwHQYDVR0OBBYEFLuw3qFYM4iapIqZ3r6966/ayySrMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgEGMAoGCCqGSM49BAMDA2gAMGUCMQCD6cHEFl4aXTQY2e3v9GwOAEZLuN+yRhHFD/3meoyhpmvOwgPUnPWTxnS4at+qIxUCMG1mihDK1A3UT82NQz60imOlM27jbdoXt2QfyFMm+YhidDkLF1vLUagM6BgD56KyKA==';

export const apple = defineProvider({
  name: 'apple',
  docs: 'https://developer.apple.com/documentation/appstoreservernotifications/receiving-app-store-server-notifications',
  scheme: jose({
    signature: 'json:signedPayload',
    algorithm: 'ES256',
    settings: { bundleId: /^[\w-]+(\.[\w-]+)+$/, environment: /^(Production|Sandbox)$/ },
    keys: x5c({
      roots: [APPLE_ROOT_CA_G3],
      // 1.2.840.113635.100.6.11.1: the leaf signs for the App Store.
      leafExtension: '2a864886f76364060b01',
      // 1.2.840.113635.100.6.2.1: the issuer is Apple Worldwide Developer Relations.
      issuerExtension: '2a864886f76364060201',
    }),
    claims: [
      // Apple signs transactions in the same way, and every buyer has some. Transactions lack these claims.
      { at: 'jws:notificationType' },
      { at: 'jws:notificationUUID' },
      {
        at: ['jws:data.bundleId', 'jws:summary.bundleId', 'jws:externalPurchaseToken.bundleId', 'jws:appData.bundleId'],
        is: '{bundleId}',
      },
      // A token of an external purchase doesn't say the environment.
      {
        at: ['jws:data.environment', 'jws:summary.environment', 'jws:appData.environment'],
        is: '{environment}',
        optional: true,
      },
    ],
    isEvent: true,
  }),
  id: { at: '{json:notificationUUID}', signed: true },
  type: ['{json:notificationType}.{json:subtype}', '{json:notificationType}'],
  occurredAt: { at: 'json:signedDate', unit: 'ms' },
  retriesForDays: 7,
});
