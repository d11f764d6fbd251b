/** Messages to peers of other machines, as the delivery of messages needs them. */

import type { Reason } from "protocol/reasons.ts";
import type { ReportedChain } from "protocol/origins/record.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";

/** A message that another machine accepted first. */
export interface RemoteOrigin {
  /** When it was accepted there, by this machine's clock. */
  readonly at: number;
  /** Number of earlier follow-ups on all machines. */
  readonly hops: number;
  /** The name of the machine, and the chain that it reports. */
  readonly machine: string;
  readonly reported: ReportedChain | undefined;
  /** The id under which messages are counted: an announced peer, or all others of its machine. */
  readonly counted_as: string;
}

/** Hands messages to other machines, in the caller's transaction. */
export interface RemoteEffects {
  /** Passes on a message that was just stored. `hops` counts the follow-ups before it. */
  forward(tx: Tx, message: StoredMessage, daemon_id: string, hops: number): void;
  /** Withdraws a message; false if it may be on the bus. One to a local peer never is. */
  withdraw(tx: Tx, message: Pick<StoredMessage, "seq">): boolean;
}

/** Questions about messages of other machines. */
export interface RemotePorts {
  /** The messages from other machines that are queued for a peer of this one. */
  queuedFromElsewhere(tx: Tx, peer_id: string): readonly StoredMessage[];
  /** True if the message goes to another machine. */
  isForwarded(message: Pick<StoredMessage, "seq">): boolean;
  /** The reason why a message to that machine must wait now; null if it need not wait. */
  reasonToWait(daemon_id: string): Reason | null;
  /** The number of follow-ups before an ask of another machine; undefined for any other ask. */
  hopsBefore(correlation_id: string): number | undefined;
}

export type RemoteDelivery = RemoteEffects & RemotePorts;
