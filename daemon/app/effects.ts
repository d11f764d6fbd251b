/**
 * The table of upward effects: each row is an effect of a lower feature on higher ones. A row runs
 * in the transaction of its caller, or after the commit where its interface says so. `ports.ts` has
 * the questions. There is no third way from a lower feature to a higher one.
 */

import * as z from "zod";
import { Peer } from "protocol/peers/record.ts";
import type { Reviews } from "../features/reviews/reviews.ts";
import type { Telemetry } from "../api/telemetry/telemetry.ts";
import type { AskEffects } from "../features/asks/ask_closer.ts";
import type { Asks } from "../features/asks/asks.ts";
import type { Machines } from "../machines/machines.ts";
import type { HookEffects } from "../features/hooks/hook_events.ts";
import type { ReportedCommits } from "../features/blame/commits.ts";
import type { FileEffects, FileUses } from "../features/files/file_uses.ts";
import type { Surfaces } from "../features/inbox/surfaces.ts";
import type { Origins } from "../features/origins/origins.ts";
import type { Budgets } from "../features/budgets/budgets.ts";
import type { Context } from "../data/context.ts";
import type { BudgetCards } from "../features/breakers/budget_cards.ts";
import type { Loops } from "../features/breakers/loops.ts";
import type { Charges } from "../features/budgets/charges.ts";
import type { MessageReading } from "../features/budgets/reading.ts";
import { fireIdsIn } from "../features/jobs/executors.ts";
import type { Jobs } from "../features/jobs/jobs.ts";
import type { AccountLimits } from "../features/limits/limits.ts";
import type { RequestStorms } from "../features/limits/request_storms.ts";
import type { LimitEffects } from "../features/limits/deps.ts";
import type { Linking } from "../features/lifecycle/linking.ts";
import type { Delivery, SendEffects } from "../features/messages/delivery.ts";
import type { Dispatcher } from "../features/messages/dispatcher.ts";
import { idsIn } from "../features/messages/framing.ts";
import type { StepListener } from "../features/messages/ledger/steps.ts";
import type { DeliveryEffects, Receipts } from "../features/messages/receipts.ts";
import type { RemoteEffects } from "../features/messages/remote_delivery.ts";
import type { Sockets } from "../features/messages/websocket/sockets.ts";
import type { Proofs } from "../features/proofs/proofs.ts";
import type { EndedTurns } from "../features/notifications/ended_turns.ts";
import type { PeerEffects } from "../features/peers/changes.ts";
import type { Directory } from "../features/peers/directory.ts";
import type { PeerRecords } from "../features/peers/records.ts";
import type { Subagents } from "../features/peers/subagents.ts";
import type { SpawnEffects } from "../features/spawn/deps.ts";
import type { Spawns } from "../features/spawn/spawns.ts";
import type { Subscriptions } from "../features/subscriptions/subscriptions.ts";
import type {
  SessionReading,
  SessionReadingEffects,
} from "../features/transcripts/session_reading.ts";
import type { TokenCounting } from "../features/usage/counting.ts";
import type { AgentWork } from "../features/usage/work.ts";
import type { Wakes } from "../features/wakes/wakes.ts";

/** The features that effects change. */
interface AffectedFeatures {
  readonly agentWork: AgentWork;
  readonly asks: Asks;
  readonly budgets: Budgets;
  readonly budgetCards: BudgetCards;
  readonly messageReading: MessageReading;
  readonly charges: Charges;
  readonly ctx: Context;
  readonly delivery: Delivery;
  readonly directory: Directory;
  readonly dispatcher: Dispatcher;
  readonly endedTurns: EndedTurns;
  readonly fileUses: FileUses;
  readonly machines: Machines | undefined;
  readonly origins: Origins;
  readonly proofs: Proofs;
  readonly jobs: Jobs;
  readonly limits: AccountLimits;
  readonly linking: Linking;
  readonly loops: Loops;
  readonly receipts: Receipts;
  readonly reportedCommits: ReportedCommits;
  readonly requestStorms: RequestStorms;
  readonly records: PeerRecords;
  readonly reviews: Reviews;
  readonly sockets: Sockets;
  readonly sessionReading: SessionReading;
  readonly spawns: Spawns;
  readonly subagents: Subagents;
  readonly subscriptions: Subscriptions;
  readonly surfaces: Surfaces;
  readonly telemetry: Telemetry | undefined;
  readonly tokenCounting: TokenCounting;
  readonly wakes: Wakes;
}

/** Passes effects of lower features to the higher ones, which exist once all features are built. */
export class Effects {
  #connected: AffectedFeatures | undefined;

  /** Connects the features. Call it once, after all of them are built. */
  connect(features: AffectedFeatures): void {
    this.#connected = features;
  }

  get #features(): AffectedFeatures {
    if (!this.#connected) throw new Error("A feature acted before all features were built");
    return this.#connected;
  }

  /** Only a machine that has joined a network knows peers of other machines. */
  #mustBeJoined(): Machines {
    const { machines } = this.#features;
    if (!machines) throw new Error("A peer of another machine is known without a bus");
    return machines;
  }

  readonly peers: PeerEffects = {
    unreachable: ({ peer_id }, reason) => {
      const { asks, delivery, jobs } = this.#features;
      jobs.unreachable(peer_id, reason);
      const dropped_deliveries = delivery.dropQueue(peer_id, reason);
      return { dropped_deliveries, closed_asks: asks.closeAllTo(peer_id, reason) };
    },
    promptSeen: (peer_id, prompt) => {
      const { agentWork, messageReading, jobs, limits, receipts, requestStorms, wakes } =
        this.#features;
      const ids = idsIn(prompt);
      limits.promptSeen(peer_id);
      requestStorms.promptSeen(peer_id);
      wakes.promptSeen(peer_id, ids);
      messageReading.promptSeen(peer_id, ids.at(-1));
      agentWork.promptSeen(peer_id, ids);
      receipts.prove(peer_id, ids);
      jobs.turns.promptSeen(peer_id, fireIdsIn(prompt, ids));
    },
    limitReported: (peer_id, report) => this.#features.limits.reported(peer_id, report),
    limitWithdrawn: (peer_id) => this.#features.limits.withdrawn(peer_id),
    turnEvidence: (peer_id, evidence) => {
      const { endedTurns, jobs, limits } = this.#features;
      limits.turnEvidence(peer_id, evidence);
      jobs.turns.turnEvidence(peer_id, evidence);
      endedTurns.turnEvidence(peer_id, evidence);
    },
    turnFailed: (peer_id, error) => this.#features.subscriptions.checks.turnFailed(peer_id, error),
    seen: (peer_id) => {
      const { jobs, reviews, spawns } = this.#features;
      spawns.registrations.peerSeen(peer_id);
      jobs.fires.peerSeen(peer_id);
      reviews.peerSeen(peer_id);
    },
    availabilityChanged: (peer_id) => {
      const { dispatcher, sockets } = this.#features;
      sockets.resume(peer_id);
      dispatcher.wake(peer_id);
    },
    wentOffline: (peer_id) => {
      const { sockets, wakes } = this.#features;
      sockets.suspend(peer_id);
      wakes.wentOffline(peer_id);
    },
    recordUpdated: (peer_id) => {
      const { directory, records, sockets } = this.#features;
      this.peers.seen(peer_id);
      const session = sockets.getSession(peer_id);
      if (!session || !directory.isRegistered(peer_id)) return;
      const peer = z.encode(Peer, records.mustGet(peer_id));
      session.send({ type: "peer_update", peer_id, peer });
    },
    closeSocket: (peer_id, reason) => this.#features.sockets.getSession(peer_id)?.close(reason),
    stateChanged: (before, after) => {
      const { charges, loops, reviews, sessionReading, subagents, subscriptions } = this.#features;
      subscriptions.peerChanged(before, after);
      sessionReading.peerChanged(after);
      reviews.peerChanged(after);
      charges.peerChanged(after);
      loops.peerChanged(after);
      subagents.peerChanged(after);
    },
    turnHeld: (peer_id) => this.#features.subscriptions.checks.turnHeld(peer_id),
  };

  readonly messages: DeliveryEffects & SendEffects & StepListener & RemoteEffects = {
    stepped: (message, state) => {
      const { delivery_id } = message;
      const { agentWork, messageReading, jobs, limits, machines, telemetry } = this.#features;
      messageReading.stepped(message, state);
      agentWork.stepped(message, state);
      limits.stepped(message, state);
      telemetry?.noteStep(delivery_id);
      jobs.turns.stepped(delivery_id, state);
      machines?.exchange.stepped(delivery_id, state);
    },
    undeliverable: ({ correlation_id, reason }) => {
      if (correlation_id) this.#features.asks.sendFailed(correlation_id, reason ?? "failed");
    },
    itemReceipt: (surface, item_id, receipt) =>
      this.#features.surfaces.receipt(surface, item_id, receipt),
    sent: (message) => this.#features.loops.messageSent(message),
    forward: (tx, message, daemon_id, hops) =>
      this.#mustBeJoined().exchange.outgoing.forward(tx, message, daemon_id, hops),
    withdraw: (tx, message) =>
      this.#features.machines?.exchange.outgoing.withdraw(tx, message) ?? true,
  };

  readonly asks: AskEffects = {
    askWaits: (message, sender) => this.#features.wakes.askWaits(message, sender),
    proofAsked: (message, to, checks) => this.#features.proofs.asked(message, to, checks),
    holdAnswer: (ask, answer) => this.#features.proofs.holdAnswer(ask, answer),
    refuseWhileProving: (ask) => this.#features.proofs.refuseWhileProving(ask),
    hasHeldAnswer: (ask) => this.#features.proofs.hasHeldAnswer(ask),
    askClosing: (ask) => this.#features.machines?.exchange.askClosing(ask),
    askClosed: (ask) => {
      const { budgetCards, budgets, machines, proofs, reviews, wakes } = this.#features;
      proofs.askClosed(ask);
      budgets.askClosed(ask.correlation_id);
      budgetCards.askClosed(ask);
      machines?.exchange.askClosed(ask);
      reviews.askClosed(ask);
      wakes.askClosed(ask);
    },
  };

  readonly transcripts: SessionReadingEffects = {
    recorded: (tx, session, part) => {
      const { fileUses, loops, tokenCounting } = this.#features;
      tokenCounting.recorded(tx, session, part);
      fileUses.recorded(tx, session, part);
      loops.recorded(session, part);
    },
    turnRead: (peer) => this.#features.fileUses.turnRead(peer),
  };

  readonly limits: LimitEffects = {
    goesOn: (peer_id) => this.#features.jobs.turns.goOn(peer_id),
    goesOnBy: (peer_id, delivery_id) => this.#features.jobs.turns.goOnBy(peer_id, delivery_id),
  };

  readonly hooks: HookEffects = {
    peerOfPrompt: (peer_id, prompt) => this.#features.linking.peerOfPrompt(peer_id, prompt),
    requestBegins: (peer_id) => this.#features.requestStorms.over(peer_id),
    staysAtLimit: (peer_id) => this.#features.limits.stays(peer_id),
    callRan: (peer_id, call) => {
      const { loops, reportedCommits } = this.#features;
      loops.callRan(peer_id, call);
      reportedCommits.callRan(peer_id, call);
    },
  };

  readonly files: FileEffects = {
    commitRecorded: (tx, peer_id, commit) =>
      this.#features.reportedCommits.recorded(tx, peer_id, commit),
  };

  readonly spawn: SpawnEffects = {
    silent: (spawned) => {
      const { jobs, linking } = this.#features;
      const resumed = spawned.resumed_peer_id ?? jobs.resumedPeerOf(spawned.spawn_id);
      return linking.linkSilent(spawned, resumed);
    },
    registered: (spawn_id, peer_id) => {
      const { budgets, ctx, jobs, wakes } = this.#features;
      ctx.db.transact((tx) => budgets.inherit(tx, peer_id, spawn_id));
      jobs.fires.executors.registered(spawn_id, peer_id);
      wakes.registered(spawn_id);
    },
  };
}
