/** Dependencies of the exchange of messages between machines. */

import type { Notifications } from "../../features/notifications/notifications.ts";
import type { Reason } from "protocol/reasons.ts";
import type { Asks } from "../../features/asks/asks.ts";
import type { HumanInbox } from "../../features/asks/ask_closer.ts";
import type { Delivery } from "../../features/messages/delivery.ts";
import type { DeliveryEffects } from "../../features/messages/receipts.ts";
import type { Steps } from "../../features/messages/ledger/steps.ts";
import type { ClockAhead } from "../other_clock.ts";
import type { Directory } from "../../features/peers/directory.ts";
import type { Address } from "protocol/peers/record.ts";
import type { MachineFiles } from "../files/machine_files.ts";
import type { Links } from "../links/links.ts";

/** Another machine, as the exchange knows it. */
export interface KnownMachine {
  readonly daemon_id: string;
  readonly name: string;
  /** It speaks as the human of this machine, too (`mesh.bus.allow_admin`). */
  readonly may_administer: boolean;
  /** Time by which its clock is ahead, in milliseconds; null before it was measured. */
  readonly clock_ahead_ms: ClockAhead;
}

export interface ExchangeDeps {
  readonly asks: Asks;
  readonly delivery: Delivery;
  readonly directory: Directory;
  readonly files: Pick<MachineFiles, "downloads" | "uploads">;
  readonly inbox: HumanInbox;
  readonly links: Pick<Links, "append" | "withdraw">;
  readonly effects: Pick<DeliveryEffects, "undeliverable">;
  readonly notifications: Notifications;
  readonly steps: Steps;
  /** A machine whose keys are known. */
  machine(daemon_id: string): KnownMachine | undefined;
  /** True if a peer of this machine is shared with the other machines. */
  isShared(peer: Address): boolean;
  /** Why a message to the machine waits; null if it does not wait. */
  reasonToWait(daemon_id: string): Reason | null;
  /** The peer of another machine that has this id; undefined if none is known. */
  remotePeer(peer_id: string): Address | undefined;
}
