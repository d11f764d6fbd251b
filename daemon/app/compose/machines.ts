/** Builds the network of machines, for a daemon with a bus. */

import type { Machines } from "../../machines/machines.ts";
import { cardMadeAt, forgetLeft, leftBefore, recordIdentityRefusal } from "../identity.ts";
import type { AskFeatures } from "./asks.ts";
import type { Foundation } from "./foundation.ts";

/** Undefined without a bus. */
export function openMachines(
  { config, ctx, effects, identity, platform: { machines } }: Foundation,
  lower: AskFeatures,
): Machines | undefined {
  if (!machines) return undefined;
  return machines.open(ctx, {
    ...lower,
    access: machines.access,
    daemon_id: identity.daemon_id,
    cardMadeAt: (card) => cardMadeAt(ctx, card),
    identityRefused: (started_at) => recordIdentityRefusal(ctx, started_at),
    left_before: leftBefore(ctx),
    forgetLeft: () => forgetLeft(ctx),
    effects: effects.messages,
    settings: {
      ...machines.membership,
      allow: config["mesh.bus.allow"],
      allow_admin: config["mesh.bus.allow_admin"],
      human_home: config["mesh.bus.human_home"],
      description_ttl_ms: config["daemon.description_ttl_seconds"] * 1000,
    },
  });
}
