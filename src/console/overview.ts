import type { Database } from '../db/client.ts';
import { type EffectKindStatus, loadEffectKinds } from '../db/effect-kinds.ts';
import { loadStatus, type Status } from '../db/status.ts';

/** What the overview shows, and `GET /ops/api/status` answers. */
export interface OverviewData extends Status {
  readonly effect_kinds: readonly EffectKindStatus[];
}

export async function loadOverview(db: Database, configured: readonly string[], now: Date): Promise<OverviewData> {
  const [status, effect_kinds] = await Promise.all([loadStatus(db, configured, now), loadEffectKinds(db, now)]);
  return { ...status, effect_kinds };
}
