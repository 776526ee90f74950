import { Layout, type PageContext } from './layout.tsx';
import { visible } from './parts.tsx';

/** A page that only says something: an error, or that there is nothing here. */
export function Message({
  title,
  text,
  tryAgain,
  ...context
}: PageContext & { title: string; text: string; tryAgain?: string | undefined }) {
  return (
    <Layout {...context} title={title}>
      <h1>{title}</h1>
      <p class="banner bad" role="alert">
        {visible(text)}
      </p>
      <p class="actions">
        {tryAgain && (
          <a class="button primary" href={tryAgain}>
            Try again
          </a>
        )}
        <a class="button" href="/ops">
          To the overview
        </a>
      </p>
    </Layout>
  );
}
