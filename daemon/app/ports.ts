/**
 * The table of upward questions: each row is a question that a lower feature may ask of a higher
 * one. A row reads and changes nothing. `effects.ts` has the effects.
 */

import type { Reader } from "kit/data/sqlite.ts";
import type { Context } from "../data/context.ts";
import type { Terminals } from "../host/tmux/terminals.ts";
import { TOOL_PERMISSION } from "protocol/messages/question.ts";
import type { RoutingPorts } from "../features/asks/routing/router.ts";
import type { QuestionPorts } from "../features/asks/questions/questions.ts";
import * as askRows from "../features/asks/store.ts";
import type { Loops } from "../features/breakers/loops.ts";
import type { OriginPorts } from "../features/origins/origins.ts";
import * as chainRows from "../features/messages/ledger/chains.ts";
import type { BudgetPorts } from "../features/budgets/budgets.ts";
import type { RemoteProofs } from "../machines/exchange/deps.ts";
import type { Machines } from "../machines/machines.ts";
import * as inboxRows from "../features/inbox/store.ts";
import { inboxItemFrame } from "../features/inbox/surfaces.ts";
import type { Leases } from "../features/leases/leases.ts";
import { leaseWords } from "protocol/holdings/lease_words.ts";
import type { LimitPorts } from "../features/limits/deps.ts";
import type { AccountLimits } from "../features/limits/limits.ts";
import * as attemptRows from "../features/jobs/fires/store.ts";
import * as jobRows from "../features/jobs/store.ts";
import * as templateRows from "../features/jobs/template_store.ts";
import type { BriefingPorts } from "../features/hooks/briefings.ts";
import type { PruningPorts } from "../features/lifecycle/pruning.ts";
import type { AuditPorts } from "../features/messages/ledger/audit.ts";
import { LIMITED } from "../features/limits/deps.ts";
import { findAskParts, findMessage, firstQueued } from "../features/messages/ledger/ledger.ts";
import type { RemotePorts } from "../features/messages/remote_delivery.ts";
import type { SocketPorts } from "../features/messages/websocket/sockets.ts";
import type { ProofPorts } from "../features/asks/asks.ts";
import type { OriginOfAsks, Proofs } from "../features/proofs/proofs.ts";
import * as peerRows from "../features/peers/store.ts";
import type { PeerPorts } from "../features/peers/registration.ts";
import type { RecordPorts } from "../features/peers/records.ts";
import { digestOf } from "../features/digest/digest.ts";
import { digestText, TEXT_ENTRIES_MAX } from "../features/digest/digest_text.ts";
import * as fileRows from "../features/files/store.ts";
import * as reviewRows from "../features/reviews/store.ts";
import type { SchedulePorts } from "../features/schedules/fires.ts";
import * as scheduleRows from "../features/schedules/store.ts";
import * as subscriptionRows from "../features/subscriptions/store.ts";
import type { SessionReadingPorts } from "../features/transcripts/session_reading.ts";
import * as usageRows from "../features/usage/store.ts";
import { expectedRegistration } from "../features/spawn/expected_registration.ts";
import { isSuperseded } from "../features/spawn/restarts/replacement.ts";
import type { Wakes } from "../features/wakes/wakes.ts";
import * as restartRows from "../features/spawn/restarts/store.ts";

interface PortsDeps {
  readonly ctx: Context;
  readonly db: Reader;
  readonly terminals: Pick<Terminals, "isSameJob">;
}

/** The features that answer questions from memory. */
interface AskedFeatures {
  readonly leases: Leases;
  readonly limits: AccountLimits;
  readonly loops: Loops;
  readonly machines: Machines | undefined;
  readonly proofs: Proofs;
  readonly wakes: Wakes;
}

export class Ports {
  readonly #deps: PortsDeps;
  #connected: AskedFeatures | undefined;

  constructor(deps: PortsDeps) {
    this.#deps = deps;
  }

  /** Connects the features. Call it once, after all of them are built. */
  connect(features: AskedFeatures): void {
    this.#connected = features;
  }

  get #features(): AskedFeatures {
    if (!this.#connected) throw new Error("A feature asked before all features were built");
    return this.#connected;
  }

  get #machines(): Machines | undefined {
    return this.#features.machines;
  }

  readonly peers: PeerPorts & RecordPorts = {
    expectedRegistration: (given, evidence) => expectedRegistration(this.#deps, given, evidence),
    isSuperseded: (peer_id, agent_pid) => isSuperseded(this.#deps.db, peer_id, agent_pid),
    limitOf: (peer_id) => this.#features.limits.waitOf(peer_id),
    loopOf: (peer_id) => this.#features.loops.loopOf(peer_id),
    proofsOf: (peer_id) => this.#features.proofs.recordOf(peer_id),
    pending: (peer_id) => askRows.pendingOf(this.#deps.db, peer_id),
    wakeOf: (peer) => this.#features.wakes.viewOf(peer),
    pendingOfAll: () => askRows.pendingOfAll(this.#deps.db),
    waitingQuestions: () =>
      new Map(
        askRows.waitingQuestions(this.#deps.db).map(({ from_peer_id, scope, created_at: at }) => [
          from_peer_id,
          { kind: scope === TOOL_PERMISSION ? "permission" : "question", at },
        ]),
      ),
  };

  readonly asks: QuestionPorts & RoutingPorts & ProofPorts = {
    proofFor: (checks, to) => this.#features.proofs.proofFor(checks, to),
    isLimited: (peer_id) => this.#features.limits.isLimited(peer_id),
    sleepOf: (peer_id) => {
      const peer = peerRows.get(this.#deps.db, peer_id);
      return peer ? this.#features.wakes.viewOf(peer) : null;
    },
  };

  readonly proofs: OriginOfAsks = {
    isFromElsewhere: (id) => this.#machines?.exchange.outgoing.hopsBefore(id) !== undefined,
  };

  readonly remoteProofs: RemoteProofs = {
    proofFor: (checks, to) => this.#features.proofs.proofFor(checks, to),
    reportOf: (correlation_id) => this.#features.proofs.reportOf(correlation_id),
    reported: (ask, report) => this.#features.proofs.reported(ask, report),
  };

  readonly origins: OriginPorts = {
    chainOfMessage: (id) => chainRows.chainOfMessage(this.#deps.db, id),
    lastRead: (peer_id, limit) => chainRows.lastRead(this.#deps.db, peer_id, limit),
    outsideOwed: (peer_id) => chainRows.outsideOwed(this.#deps.db, peer_id),
    askedFromOutside: () => chainRows.askedFromOutside(this.#deps.db),
  };

  readonly budgets: BudgetPorts = {
    askOf: (correlation_id) => findAskParts(this.#deps.db, correlation_id),
    messageOf: (id) => findMessage(this.#deps.db, id),
    budgetedRecipients: () => chainRows.budgetedRecipients(this.#deps.db),
  };

  readonly messages: SocketPorts & AuditPorts & RemotePorts = {
    holdOf: (peer_id) => this.#features.limits.holdOf(peer_id),
    inboxItemFrame: (item_id, surface) => inboxItemFrame(this.#deps.db, item_id, surface),
    isInInbox: (correlation_id) => inboxRows.itemOfAsk(this.#deps.db, correlation_id) !== undefined,
    queuedFromElsewhere: (tx, peer_id) =>
      this.#machines?.exchange.outgoing.queuedFromElsewhere(tx, peer_id) ?? [],
    isForwarded: (message) => this.#machines?.exchange.outgoing.isForwarded(message) ?? false,
    reasonToWait: (daemon_id) => {
      const machines = this.#machines;
      if (!machines) throw new Error("A peer of another machine is known without a bus");
      return machines.exchange.outgoing.reasonToWait(daemon_id);
    },
    hopsBefore: (correlation_id) => this.#machines?.exchange.outgoing.hopsBefore(correlation_id),
  };

  readonly hooks: BriefingPorts = {
    jobsOf: (peer_id) => jobRows.unfinishedOf(this.#deps.db, peer_id).map(toPeerTask),
    jobsEnded: (peer_id, since) =>
      jobRows.endedOf(this.#deps.db, { peer_id, since }).map((job) => ({
        ...toPeerTask(job),
        text: job.result_summary ?? job.error ?? job.title,
      })),
    subscriptionsOf: (peer_id) =>
      subscriptionRows.ofSubscriber(this.#deps.db, peer_id)
        .map(({ subscription_id: id, condition: text }) => ({ id, facts: [], text })),
    leasesOf: (peer_id) =>
      this.#features.leases.ofPeer(peer_id).map(({ lease_id: id, port, ...lease }) => ({
        id,
        facts: port === null ? [] : [String(port)],
        text: leaseWords(lease),
      })),
    reviewComment: (correlation_id) => {
      const comment = reviewRows.commentOfAsk(this.#deps.db, correlation_id);
      return comment && `${comment.file}:${comment.line} ${comment.text}`;
    },
    sharedFiles: (peer_id, since) => fileRows.overlapsOf(this.#deps.db, { peer_id, since }),
  };

  readonly transcripts: SessionReadingPorts = {
    cursorOf: (file, session_id) => usageRows.cursorOf(this.#deps.db, { file, session_id }),
    entriesKnownUpTo: (peer, session_id) => fileRows.knownUpTo(this.#deps.db, peer, session_id),
    sessionsReadSince: (since) => usageRows.sessionsReadSince(this.#deps.db, since),
  };

  readonly schedules: SchedulePorts = {
    digestSince: (since) => {
      const { ctx } = this.#deps;
      const period = { since, until: ctx.clock.now(), circle: null };
      return digestText(digestOf(ctx, { ...period, limit: TEXT_ENTRIES_MAX }));
    },
  };

  readonly limits: LimitPorts = {
    heldJobs: (peer_id) =>
      attemptRows.openOf(this.#deps.db, peer_id).filter(({ job_id }) =>
        jobRows.get(this.#deps.db, job_id)?.state_reason === LIMITED
      ),
  };

  readonly lifecycle: PruningPorts = {
    needOf: (peer) => {
      const { db } = this.#deps;
      const { peer_id } = peer;
      if (askRows.hasOpen(db, peer_id)) return "open_asks";
      if (firstQueued(db, peer_id)) return "queued_messages";
      if (restartRows.openOf(db, peer_id)) return "restart";
      if (jobRows.involves(db, peer_id) || templateRows.involves(db, peer_id)) return "jobs";
      return scheduleRows.involves(db, peer) ? "schedules" : undefined;
    },
  };
}

function toPeerTask({ job_id: id, state, execution: { checks }, title: text }: jobRows.StoredJob) {
  return { id, facts: [state, ...(checks.length > 0 ? [`checks ${checks.join(" ")}`] : [])], text };
}
