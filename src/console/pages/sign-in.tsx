import { Layout, type PageContext } from './layout.tsx';
import { HiddenFields } from './parts.tsx';

export function SignIn({ next, refused, ...context }: PageContext & { next: string; refused?: string | undefined }) {
  return (
    <Layout {...context} title="Sign in">
      <form class="sign-in" method="post" action="/ops/sign-in">
        <h1>Sign in</h1>
        {refused && (
          <p class="banner bad" role="alert">
            {refused}
          </p>
        )}
        <HiddenFields fields={{ next }} />
        <label>
          Token (OPS_TOKEN)
          <input name="token" type="password" required autocomplete="current-password" />
        </label>
        <label>
          Your name, recorded with what you do
          <input name="name" maxlength={80} autocomplete="username" />
        </label>
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
    </Layout>
  );
}

/**
 * A link in a chat or a mail comes from another site, and browsers don't send the session along with it. This page
 * follows the same address once more, now from our own site.
 */
export function FollowAgain({ address }: { address: string }) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>Claimcheck</title>
        <meta http-equiv="refresh" content="0" />
      </head>
      <body>
        <a href={address}>Continue</a>
      </body>
    </html>
  );
}
