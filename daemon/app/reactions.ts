/**
 * The table of upward effects: how higher features react to changes in lower ones. A reaction runs
 * in the transaction of the change. There is no other way from a lower feature to a higher one.
 */

import * as z from "zod";
import type { AgentProcesses } from "../api/callers/agent_processes.ts";
import type { Asks } from "../features/asks/asks.ts";
import type { Surfaces } from "../features/inbox/surfaces.ts";
import { fireIdsIn } from "../features/jobs/executors.ts";
import type { Jobs } from "../features/jobs/jobs.ts";
import type { SilentAgents } from "../features/lifecycle/silent_agents.ts";
import type { Delivery } from "../features/messages/delivery.ts";
import type { Dispatcher } from "../features/messages/dispatch/dispatcher.ts";
import type { DeliveryReactions, Receipts } from "../features/messages/receipts.ts";
import { idsIn } from "../features/messages/dispatch/framing.ts";
import type { StepListener } from "../features/messages/ledger/steps.ts";
import type { Sockets } from "../features/messages/websocket/sockets.ts";
import type { PeerReactions } from "../features/peers/changes.ts";
import { Peer } from "../features/peers/schemas.ts";
import type { Directory } from "../features/peers/directory.ts";
import type { PeerRecords } from "../features/peers/records.ts";
import type { SpawnDeps } from "../features/spawn/deps.ts";

/** The features that react. */
export interface ReactingFeatures {
  readonly agentProcesses: AgentProcesses;
  readonly asks: Asks;
  readonly delivery: Delivery;
  readonly directory: Directory;
  readonly dispatcher: Dispatcher;
  readonly jobs: Jobs;
  readonly receipts: Receipts;
  readonly records: PeerRecords;
  readonly silentAgents: SilentAgents;
  readonly sockets: Sockets;
  readonly surfaces: Surfaces;
}

/** The effects that each lower feature declares in its own interface. */
export interface ReactionTable extends PeerReactions, DeliveryReactions, StepListener {
  /** An agent was spawned in a pane, and its hook has not registered it yet. */
  spawned: SpawnDeps["linkSilentAgent"];
}

function tableOf(features: ReactingFeatures): ReactionTable {
  const { asks, delivery, directory, dispatcher, jobs, records, silentAgents, sockets, surfaces } =
    features;
  return {
    // Peers
    unreachable({ peer_id }, reason) {
      jobs.unreachable(peer_id, reason);
      const dropped_deliveries = delivery.dropQueue(peer_id, reason);
      return { dropped_deliveries, closed_asks: asks.closeAllTo(peer_id, reason) };
    },
    promptSeen(peer_id, prompt) {
      const ids = idsIn(prompt);
      features.receipts.prove(peer_id, ids);
      jobs.promptSeen(peer_id, fireIdsIn(prompt, ids));
    },
    finalMessageSeen: (peer_id, text) => jobs.finalMessageSeen(peer_id, text),
    processProven: (process) => features.agentProcesses.remember(process),
    availabilityChanged(peer_id) {
      sockets.resume(peer_id);
      dispatcher.wake(peer_id);
    },
    wentOffline: (peer_id) => sockets.suspend(peer_id),
    recordUpdated(peer_id) {
      const session = sockets.getSession(peer_id);
      if (!session || !directory.isRegistered(peer_id)) return;
      const peer = z.encode(Peer, records.mustGet(peer_id));
      session.send({ type: "peer_update", peer_id, peer });
    },
    closeSocket: (peer_id, reason) => sockets.getSession(peer_id)?.close(reason),

    // Messages
    stepped: (delivery_id, state) => jobs.stepped(delivery_id, state),
    undeliverable({ correlation_id, reason }) {
      if (correlation_id) asks.sendFailed(correlation_id, reason ?? "failed");
    },
    itemReceipt: (surface, item_id, receipt) => surfaces.receipt(surface, item_id, receipt),

    // Spawns
    spawned: (spawned) => silentAgents.link(spawned, jobs.resumedPeerOf(spawned.spawn_id)),
  };
}

/** Passes effects of lower features to the table, which exists once all features are built. */
export class Reactions {
  #table: ReactionTable | undefined;

  /** The table for lower features: each effect calls the row of the connected table. */
  readonly table: ReactionTable = {
    unreachable: (...effect) => this.#mustGet().unreachable(...effect),
    promptSeen: (...effect) => this.#mustGet().promptSeen(...effect),
    finalMessageSeen: (...effect) => this.#mustGet().finalMessageSeen(...effect),
    processProven: (...effect) => this.#mustGet().processProven(...effect),
    availabilityChanged: (...effect) => this.#mustGet().availabilityChanged(...effect),
    wentOffline: (...effect) => this.#mustGet().wentOffline(...effect),
    recordUpdated: (...effect) => this.#mustGet().recordUpdated(...effect),
    closeSocket: (...effect) => this.#mustGet().closeSocket(...effect),
    stepped: (...effect) => this.#mustGet().stepped(...effect),
    undeliverable: (...effect) => this.#mustGet().undeliverable(...effect),
    itemReceipt: (...effect) => this.#mustGet().itemReceipt(...effect),
    spawned: (...effect) => this.#mustGet().spawned(...effect),
  };

  /** Connects the table. Call it once, after all features are built. */
  connect(features: ReactingFeatures): void {
    this.#table = tableOf(features);
  }

  #mustGet(): ReactionTable {
    if (!this.#table) throw new Error("A feature acted before all features were built");
    return this.#table;
  }
}
