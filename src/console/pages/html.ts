import type { JSX } from 'hono/jsx/jsx-runtime';

/** A page as an answer. */
export function html(page: JSX.Element, status = 200): Response {
  const headers = { 'content-type': 'text/html; charset=utf-8' };
  return new Response(`<!doctype html>${page.toString()}`, { status, headers });
}
