/** With these variables wrangler asks nothing of the network: neither where it is, nor for an update, nor to be counted. */
export const OFFLINE = {
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  WRANGLER_SEND_METRICS: 'false',
  // Otherwise it asks the npm registry for a newer version, to name it in its banner.
  WRANGLER_HIDE_BANNER: 'true',
};
