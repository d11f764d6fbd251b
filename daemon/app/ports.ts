/**
 * The table of upward questions: each row is a question that a lower feature may ask of a higher
 * one. A row reads and changes nothing. `effects.ts` has the effects.
 */

import type { Reader } from "kit/data/sqlite.ts";
import type { Terminals } from "../host/tmux/terminals.ts";
import { TOOL_PERMISSION } from "../features/asks/answers.ts";
import * as askRows from "../features/asks/store.ts";
import type { Loops } from "../features/breakers/loops.ts";
import type { BudgetPorts } from "../features/budgets/budgets.ts";
import type { Machines } from "../machines/machines.ts";
import * as inboxRows from "../features/inbox/store.ts";
import { inboxItemFrame } from "../features/inbox/surfaces.ts";
import * as jobRows from "../features/jobs/store.ts";
import * as templateRows from "../features/jobs/template_store.ts";
import type { PruningPorts } from "../features/lifecycle/pruning.ts";
import type { AuditPorts } from "../features/messages/ledger/audit.ts";
import { findAskParts, firstQueued } from "../features/messages/ledger/ledger.ts";
import type { RemotePorts } from "../features/messages/remote_delivery.ts";
import type { SocketPorts } from "../features/messages/websocket/sockets.ts";
import type { PeerPorts } from "../features/peers/registration.ts";
import type { RecordPorts } from "../features/peers/records.ts";
import * as scheduleRows from "../features/schedules/store.ts";
import { expectedRegistration } from "../features/spawn/expected_registration.ts";
import { isSuperseded } from "../features/spawn/restarts/replacement.ts";
import * as restartRows from "../features/spawn/restarts/store.ts";

interface PortsDeps {
  readonly db: Reader;
  readonly terminals: Pick<Terminals, "isSameJob">;
}

/** The features that are asked. */
interface AskedFeatures {
  readonly loops: Loops;
  readonly machines: Machines | undefined;
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
    loopOf: (peer_id) => this.#features.loops.loopOf(peer_id),
    pending: (peer_id) => askRows.pendingOf(this.#deps.db, peer_id),
    pendingOfAll: () => askRows.pendingOfAll(this.#deps.db),
    waitingQuestions: () =>
      new Map(
        askRows.waitingQuestions(this.#deps.db).map(({ from_peer_id, scope, created_at: at }) => [
          from_peer_id,
          { kind: scope === TOOL_PERMISSION ? "permission" : "question", at },
        ]),
      ),
  };

  readonly budgets: BudgetPorts = {
    askOf: (correlation_id) => findAskParts(this.#deps.db, correlation_id),
  };

  readonly messages: SocketPorts & AuditPorts & RemotePorts = {
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
