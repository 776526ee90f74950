/** wrangler on this machine asks nothing of the network: neither where it is, nor whether it may be counted. */
export const OFFLINE = { CLOUDFLARE_CF_FETCH_ENABLED: 'false', WRANGLER_SEND_METRICS: 'false' };
