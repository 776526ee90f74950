import type { Child } from 'hono/jsx';
import { SCRIPT_PATH, STYLE_PATH } from '../assets.ts';
import { HiddenFields, visible } from './parts.tsx';

/** What every page needs to know. */
export interface PageContext {
  readonly now: Date;
  /** Undefined for somebody who has not signed in. */
  readonly visitor?: Visitor | undefined;
}

export interface Visitor {
  readonly who: string;
  /** Goes into every form, and must come back with it. */
  readonly formToken: string;
  /** Only a session of ours can be ended here. */
  readonly canSignOut: boolean;
  /** In `npm run dev` pages renew themselves. Elsewhere this would keep an idle database awake. */
  readonly isLocal: boolean;
}

export interface LayoutProps extends PageContext {
  readonly title: string;
  readonly current?: '/ops' | '/ops/events' | undefined;
  /** Seconds after which the script renews the page. */
  readonly refresh?: number | undefined;
  /** What a screen reader is told when the renewed page says something else. */
  readonly summary?: string | undefined;
  readonly children?: Child;
}

/** A whole page. */
export function Layout({ title, visitor, current, refresh, summary, children }: LayoutProps) {
  const link = (path: '/ops' | '/ops/events', name: string) => (
    <a href={path} aria-current={current === path ? 'page' : undefined}>
      {name}
    </a>
  );
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{visible(title)} · Claimcheck</title>
        <link rel="stylesheet" href={STYLE_PATH} />
        <link rel="icon" href="/ops/assets/icon.svg" type="image/svg+xml" />
        <script src={SCRIPT_PATH} defer></script>
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <header>
          <strong class="brand">Claimcheck</strong>
          {visitor && (
            <>
              <nav aria-label="Pages">
                {link('/ops', 'Overview')}
                {link('/ops/events', 'Events')}
              </nav>
              <div class="visitor">
                <span>
                  <bdi>{visible(visitor.who)}</bdi>
                </span>
                {visitor.canSignOut && (
                  <form method="post" action="/ops/sign-out">
                    <FormToken visitor={visitor} />
                    <button class="plain" type="submit">
                      Sign out
                    </button>
                  </form>
                )}
              </div>
            </>
          )}
        </header>
        <p id="live" class="hidden" role="status"></p>
        <main id="main" tabindex={-1} data-refresh={refresh?.toString()} data-summary={summary}>
          {children}
        </main>
      </body>
    </html>
  );
}

export function FormToken({ visitor }: { visitor: Visitor }) {
  return <HiddenFields fields={{ form_token: visitor.formToken }} />;
}
