/** Dependencies of the exchange of messages between machines. */

import type { Notifications } from "../../features/notifications/notifications.ts";
import type { Reason } from "protocol/reasons.ts";
import type { Ask } from "protocol/asks/contract.ts";
import type { MessageProof, ReportedProof } from "protocol/proofs/contract.ts";
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
  /** It may have checks run here (`mesh.bus.allow_prove`). */
  readonly may_prove: boolean;
  /** Time by which its clock is ahead, in milliseconds; null before it was measured. */
  readonly clock_ahead_ms: ClockAhead;
}

/** The checks of answers, which are built after the machines. */
export interface RemoteProofs {
  /** The note of an ask on its checks. Throws if this recipient's answer cannot be checked. */
  proofFor(checks: readonly string[], to: Address): MessageProof;
  /** The findings on an answer that was given here; undefined if nothing was checked. */
  reportOf(correlation_id: string): ReportedProof | undefined;
  /** Records the findings of the recipient's machine, before its answer closes the ask. */
  reported(ask: Ask, report: ReportedProof | undefined): MessageProof | undefined;
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
  readonly proofs: RemoteProofs;
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
