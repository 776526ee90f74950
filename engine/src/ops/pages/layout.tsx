import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { OpsTypes } from '../api.ts';
import { visible } from './parts.tsx';

/** The context of every page. */
export interface PageContext {
  readonly now: Date;
  /** The console's name. */
  readonly name?: string | undefined;
  /** Undefined if nobody is identified. The page then has no links. */
  readonly operator: OpsTypes['Variables']['operator'] | undefined;
  /** The result of the action that led here. */
  readonly notice?: { readonly text: string; readonly style: 'good' | '' } | undefined;
}

interface LayoutProps extends PageContext {
  readonly title: string;
  /** Which link in the header is the current one. */
  readonly current?: '/ops' | '/ops/events' | undefined;
  /** Seconds after which the script refreshes the page. */
  readonly refresh?: number | undefined;
  /** The text that a screen reader announces if a refresh changes it. */
  readonly summary?: string | undefined;
  readonly children?: Child;
}

/** Without JavaScript the whole page is reloaded. A shorter time would disturb the reader. */
const REFRESH_SECONDS = 5;

/** A whole page. */
export function Layout({
  title,
  name = 'Claimcheck',
  operator,
  notice,
  current,
  refresh,
  summary,
  children,
}: LayoutProps) {
  const link = (path: '/ops' | '/ops/events', name: string) => (
    <a href={path} aria-current={current === path ? 'true' : undefined}>
      {name}
    </a>
  );
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>
          {visible(title)} · {name}
        </title>
        {refresh !== undefined && (
          <noscript>
            <meta http-equiv="refresh" content={String(REFRESH_SECONDS)} />
          </noscript>
        )}
        <link rel="stylesheet" href="/ops/files/style.css" />
        <link rel="icon" href="/ops/files/icon.svg" type="image/svg+xml" />
        <script src="/ops/files/script.js" defer></script>
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <header>
          <a class="brand" href="/ops">
            {name}
          </a>
          {operator && (
            <>
              <nav aria-label="Pages">
                {link('/ops', 'Overview')}
                {link('/ops/events', 'Events')}
              </nav>
              <bdi class="operator">{visible(operator.who)}</bdi>
            </>
          )}
        </header>
        <p id="live" class="hidden" role="status"></p>
        <main id="main" tabindex={-1} data-refresh={refresh?.toString()} data-summary={summary}>
          {notice && (
            <p id="notice" class={`banner ${notice.style}`} role="status" data-live>
              {notice.text}
            </p>
          )}
          {children}
        </main>
      </body>
    </html>
  );
}

/** Neon wakes up in less time, and Postgres is back soon after a restart. */
const RETRY_SECONDS = 5;

/** A page with only a message, such as an error. */
export function Message(props: PageContext & { title: string; text: string; tryAgain?: string | undefined }) {
  const { title, text, tryAgain, ...context } = props;
  return (
    <Layout {...context} title={title} refresh={tryAgain === undefined ? undefined : RETRY_SECONDS}>
      <h1>{title}</h1>
      <p class="lead" role="alert">
        {visible(text)} {tryAgain && 'This page retries automatically.'}
      </p>
      <div class="buttons">
        {tryAgain && (
          <a class="button primary" href={tryAgain}>
            Try again
          </a>
        )}
        {!tryAgain && (
          <a class="button" href="/ops">
            Back to the overview
          </a>
        )}
      </div>
    </Layout>
  );
}

export function html(page: JSX.Element, status = 200): Response {
  const headers = { 'content-type': 'text/html; charset=utf-8' };
  return new Response(`<!doctype html>${page.toString()}`, { status, headers });
}
