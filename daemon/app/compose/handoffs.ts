/** Builds the hand-over of a peer's work. */

import { Handoffs } from "../../features/handoffs/handoffs.ts";
import { Switches } from "../../features/handoffs/switches.ts";
import type { SpawnFeatures } from "./spawn.ts";
import type { Foundation } from "./foundation.ts";
import { type openTranscripts, secretsOf } from "./transcripts.ts";

type LowerFeatures = SpawnFeatures & Pick<ReturnType<typeof openTranscripts>, "transcripts">;

export function openHandoffs(foundation: Foundation, lower: LowerFeatures) {
  const { config, ctx, identity, platform, shutdownSignal } = foundation;
  const handoffs = new Handoffs(ctx, {
    ...lower,
    programs: platform.programs,
    secrets: [identity.hook_token, ...secretsOf(config)],
    machine: platform.machine,
    shutdownSignal,
  });
  const switches = new Switches(ctx, { ...lower, handoffs });
  return { handoffs, switches };
}
