/** With these variables wrangler sends no request for the machine's location, for updates or for statistics. */
export const OFFLINE = {
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  WRANGLER_SEND_METRICS: 'false',
  // Otherwise it asks the npm registry for a newer version, to name it in its banner.
  WRANGLER_HIDE_BANNER: 'true',
};
