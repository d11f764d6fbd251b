/** The sleep of an agent as a sentence, and as its status in lists. */

import type { WireResponse } from "kit/http/client.ts";
import type { getPeer } from "protocol/peers/contract.ts";

type ShownPeer = WireResponse<typeof getPeer>;
type Wake = NonNullable<ShownPeer["wake"]>;

/** A sentence about a peer that sleeps or is being woken; undefined for any other peer. */
export function wakeSentence(name: string, wake: Wake | null | undefined): string | undefined {
  const why = wake?.reason ? ` (${wake.detail})` : "";
  switch (wake?.state) {
    case "asleep":
      return `${name} is asleep${why}; a person wakes it with: mesh wake ${name}`;
    case "asking":
      return `${name} is asleep, and the human is asked whether to wake it`;
    case "waking":
      return `${name} was asleep, and is being woken${why}`;
    case "not_resumable":
      return `${name} has ended, and cannot be woken: ${wake.detail}`;
    default:
      return undefined;
  }
}

/** The status of a peer in a list: an offline agent that can be woken is asleep. */
export function statusWithSleep({ status, wake }: Pick<ShownPeer, "status" | "wake">): string {
  if (status !== "offline" || !wake || wake.state === "not_resumable") return status;
  return wake.state === "waking" ? "waking" : "asleep";
}
