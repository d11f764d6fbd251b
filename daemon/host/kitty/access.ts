/**
 * Checks that the kitty at an address can be used as a terminal, without looking at its windows.
 */

import type { Clock } from "kit/core/clock.ts";
import { socketPathOf } from "../terminals/addresses.ts";
import { checkTerminal } from "../trusted_socket.ts";
import { callKitty } from "./remote_control.ts";

/** Any command would do; the answer of this command shows nothing that runs in the windows. */
const HARMLESS = { cmd: "get-colors", payload: {} };

type KittyAccess =
  | { readonly state: "allowed" }
  | { readonly state: "untrusted" | "refused"; readonly reason: string };

export async function accessTo(address: string, clock: Clock): Promise<KittyAccess> {
  const checked = checkTerminal(address);
  if (checked.state === "refused") return { state: "untrusted", reason: checked.reason };
  const answer = await callKitty(socketPathOf(address), HARMLESS, { clock });
  return answer.ok ? { state: "allowed" } : { state: "refused", reason: answer.message };
}
