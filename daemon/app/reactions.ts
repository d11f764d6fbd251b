/**
 * The table of upward effects: how higher features react to changes in lower ones. A reaction runs
 * in the transaction of the change. There is no other way from a lower feature to a higher one.
 */

import * as z from "zod";
import type { Context } from "../data/context.ts";
import type { AgentProcesses } from "../api/callers/agent_processes.ts";
import type { Telemetry } from "../api/telemetry/telemetry.ts";
import type { AskReactions } from "../features/asks/ask_closer.ts";
import type { Asks } from "../features/asks/asks.ts";
import type { Federation } from "../features/federation/federation.ts";
import type { Surfaces } from "../features/inbox/surfaces.ts";
import { fireIdsIn } from "../features/jobs/executors.ts";
import type { Jobs } from "../features/jobs/jobs.ts";
import type { EndedTurns } from "../features/notifications/ended_turns.ts";
import type { Linking } from "../features/lifecycle/linking.ts";
import { linkSilentAgent } from "../features/lifecycle/silent_agents.ts";
import type { Delivery } from "../features/messages/delivery.ts";
import type { Dispatcher } from "../features/messages/dispatch/dispatcher.ts";
import type { DeliveryReactions, Receipts } from "../features/messages/receipts.ts";
import { idsIn } from "../features/messages/dispatch/framing.ts";
import type { StepListener } from "../features/messages/ledger/steps.ts";
import type { RemoteDelivery } from "../features/messages/remote_delivery.ts";
import type { Sockets } from "../features/messages/websocket/sockets.ts";
import type { PeerReactions } from "../features/peers/changes.ts";
import { Peer } from "protocol/peers/record.ts";
import type { Directory } from "../features/peers/directory.ts";
import type { PeerRecords } from "../features/peers/records.ts";
import type { Subagents } from "../features/peers/subagents/subagents.ts";
import type { SpawnDeps } from "../features/spawn/deps.ts";
import type { Subscriptions } from "../features/subscriptions/subscriptions.ts";

/** The features that react. */
export interface ReactingFeatures {
  readonly ctx: Context;
  readonly agentProcesses: AgentProcesses;
  readonly asks: Asks;
  readonly delivery: Delivery;
  readonly directory: Directory;
  readonly dispatcher: Dispatcher;
  readonly endedTurns: EndedTurns;
  readonly federation: Federation | undefined;
  readonly jobs: Jobs;
  readonly linking: Linking;
  readonly receipts: Receipts;
  readonly records: PeerRecords;
  readonly sockets: Sockets;
  readonly subagents: Subagents;
  readonly subscriptions: Subscriptions;
  readonly surfaces: Surfaces;
  readonly telemetry: Telemetry | undefined;
}

/** The effects that each lower feature declares in its own interface. */
export interface ReactionTable
  extends PeerReactions, DeliveryReactions, StepListener, RemoteDelivery, AskReactions {
  /** An agent was spawned in a pane, and its hook has not registered it yet. */
  spawned: SpawnDeps["linkSilentAgent"];
}

/** Passes effects of lower features to the higher ones, which exist once all features are built. */
export class Reactions {
  #connected: ReactingFeatures | undefined;

  /** Connects the features. Call it once, after all of them are built. */
  connect(features: ReactingFeatures): void {
    this.#connected = features;
  }

  get #features(): ReactingFeatures {
    if (!this.#connected) throw new Error("A feature acted before all features were built");
    return this.#connected;
  }

  /** Only a machine that has joined a network knows peers of other machines. */
  #mustBeJoined(): Federation {
    const { federation } = this.#features;
    if (!federation) throw new Error("A peer of another machine is known without a bus");
    return federation;
  }

  readonly table: ReactionTable = {
    // Peers
    unreachable: ({ peer_id }, reason) => {
      const { asks, delivery, jobs } = this.#features;
      jobs.unreachable(peer_id, reason);
      const dropped_deliveries = delivery.dropQueue(peer_id, reason);
      return { dropped_deliveries, closed_asks: asks.closeAllTo(peer_id, reason) };
    },
    promptSeen: (peer_id, prompt) => {
      const { jobs, receipts } = this.#features;
      const ids = idsIn(prompt);
      receipts.prove(peer_id, ids);
      jobs.turns.promptSeen(peer_id, fireIdsIn(prompt, ids));
    },
    turnEvidence: (peer_id, evidence) => {
      const { endedTurns, jobs } = this.#features;
      jobs.turns.turnEvidence(peer_id, evidence);
      endedTurns.turnEvidence(peer_id, evidence);
    },
    turnFailed: (peer_id, error) => this.#features.subscriptions.turnFailed(peer_id, error),
    processProven: (process) => this.#features.agentProcesses.remember(process),
    availabilityChanged: (peer_id) => {
      this.#features.sockets.resume(peer_id);
      this.#features.dispatcher.wake(peer_id);
    },
    wentOffline: (peer_id) => this.#features.sockets.suspend(peer_id),
    recordUpdated: (peer_id) => {
      const { directory, records, sockets } = this.#features;
      const session = sockets.getSession(peer_id);
      if (!session || !directory.isRegistered(peer_id)) return;
      const peer = z.encode(Peer, records.mustGet(peer_id));
      session.send({ type: "peer_update", peer_id, peer });
    },
    closeSocket: (peer_id, reason) => this.#features.sockets.getSession(peer_id)?.close(reason),
    stateChanged: (before, after) => {
      const { subagents, subscriptions } = this.#features;
      subscriptions.peerChanged(before, after);
      subagents.peerChanged(after);
    },
    turnHeld: (peer_id) => this.#features.subscriptions.turnHeld(peer_id),

    // Messages
    stepped: (delivery_id, state) => {
      const { federation, jobs, telemetry } = this.#features;
      telemetry?.noteStep(delivery_id);
      jobs.turns.stepped(delivery_id, state);
      federation?.exchange.stepped(delivery_id, state);
    },
    undeliverable: ({ correlation_id, reason }) => {
      if (correlation_id) this.#features.asks.sendFailed(correlation_id, reason ?? "failed");
    },
    itemReceipt: (surface, item_id, receipt) =>
      this.#features.surfaces.receipt(surface, item_id, receipt),

    // Messages to other machines
    forward: (tx, message, daemon_id, hops) =>
      this.#mustBeJoined().exchange.outgoing.forward(tx, message, daemon_id, hops),
    withdraw: (tx, message) =>
      this.#features.federation?.exchange.outgoing.withdraw(tx, message) ?? true,
    queuedFromElsewhere: (tx, peer_id) =>
      this.#features.federation?.exchange.outgoing.queuedFromElsewhere(tx, peer_id) ?? [],
    isForwarded: (message) =>
      this.#features.federation?.exchange.outgoing.isForwarded(message) ?? false,
    reasonToWait: (daemon_id) => this.#mustBeJoined().exchange.outgoing.reasonToWait(daemon_id),
    hopsBefore: (correlation_id) =>
      this.#features.federation?.exchange.outgoing.hopsBefore(correlation_id),

    // Asks
    askClosing: (ask) => this.#features.federation?.exchange.askClosing(ask),
    askClosed: (ask) => this.#features.federation?.exchange.askClosed(ask),

    // Spawns
    spawned: (spawned) => {
      const { ctx: { log }, jobs, linking } = this.#features;
      const resumed = spawned.resumed_peer_id ?? jobs.resumedPeerOf(spawned.spawn_id);
      return linkSilentAgent({ linking, log }, spawned, resumed);
    },
  };
}
