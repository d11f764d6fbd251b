/** Whether a caller may act in the name of the peer that its request names (contract 11). */

import type { Actor } from "kit/http/contract.ts";
import type { Caller, RequestParts } from "kit/http/route.ts";
import { Problem } from "kit/core/problem.ts";
import type { Database } from "kit/data/sqlite.ts";
import type { SettleDeliveries } from "../../features/messages/contract.ts";
import type { Directory, PeerQuery } from "../../features/peers/directory.ts";
import * as peerRows from "../../features/peers/store.ts";
import type { StoredPeer } from "../../features/peers/store.ts";
import type { ProcessTable } from "../../host/processes.ts";
import type { Callers } from "./callers.ts";
import type { CallingPeers } from "./calling_peers.ts";

/** The header with a peer's birth certificate, which proves that the caller is that peer. */
const CERTIFICATE_HEADER = "x-mesh-certificate";
/** How many ancestors of a caller's process are searched for a registered peer. */
const GENERATIONS_MAX = 64;

export interface ActorsDeps {
  readonly db: Database;
  readonly callers: Callers;
  readonly callingPeers: Pick<CallingPeers, "certifiedId">;
  readonly directory: Directory;
  readonly processes: Pick<ProcessTable, "parentOf" | "startTimeOf">;
  /** The recipient of an ask; undefined for an unknown one. */
  recipientOf(correlation_id: string): string | undefined;
  /** The peer that made a schedule or a subscription; undefined for an unknown one. */
  makerOf(id: string): string | undefined;
  /** The recipients of the deliveries that a receipt settles. */
  drainedPeers(receipt: Omit<SettleDeliveries, "status">): string[];
}

const NO_PROCESS = { agent_pid: null, agent_started: null };

type Fields = Readonly<Record<string, unknown>>;

export class Actors {
  readonly #deps: ActorsDeps;

  constructor(deps: ActorsDeps) {
    this.#deps = deps;
  }

  /**
   * The caller with what is proved. Throws `not_your_identity` if it is proved to be another
   * registered peer, or if it would take messages from a queue without a proof.
   */
  check(actor: Actor, parts: RequestParts): Caller | Promise<Caller> {
    const { caller, headers } = parts;
    // A tool or a verb of `/ws`, whose caller the daemon has identified already.
    if (caller.remote === undefined && caller.via === undefined) return caller;
    const certificate = headers.get(CERTIFICATE_HEADER);
    if (certificate === null) return this.#decide(actor, parts, undefined);
    return this.#deps.callingPeers.certifiedId(certificate)
      .then((peer_id) => this.#decide(actor, parts, peer_id));
  }

  /** Whether the caller is proved to be another registered peer than this one. */
  isAnother(peer: StoredPeer, caller: Pick<Caller, "remote">): boolean {
    return this.#processPeer(peer, caller) === "another";
  }

  #decide(actor: Actor, parts: RequestParts, certified: string | undefined): Caller {
    const { caller, headers } = parts;
    const named = this.#namedBy(actor, parts);
    const isUnproved = named.map((peer) => {
      if (certified !== undefined && peer?.peer_id === certified) return false;
      // What anybody sends as the human is marked by its own rule (contract 2).
      if (peer?.role === "human" && isMessage(actor)) return false;
      const isProved = this.#isProved(peer, caller, headers);
      if (actor.drains && !isProved && peer) throw notYours(peer);
      return !isProved;
    });
    return isUnproved.includes(true) ? { ...caller, unverified: true } : caller;
  }

  /** Whether the caller is the peer or a person, or nobody can prove to be the peer. */
  #isProved(named: StoredPeer | undefined, caller: Caller, headers: Headers): boolean {
    const found = this.#processPeer(named, caller);
    if (found === "itself") return true;
    if (found === "another" && named) throw notYours(named);
    if (found === "another") return false; // An agent that uses the name of no peer.
    if (!named || !isIdentified(named)) return true;
    return this.#deps.callers.isHuman(caller, headers);
  }

  /** Whose process calls: that of the nearest registered peer at or above the calling one. */
  #processPeer(
    named: StoredPeer | undefined,
    caller: Pick<Caller, "remote">,
  ): "itself" | "another" | undefined {
    const { callers, db, processes } = this.#deps;
    const { agent_pid, agent_started } = named ? this.#processOf(named) : NO_PROCESS;
    let at = callers.agentProcessOf(caller, agent_pid ?? undefined);
    for (let depth = 0; at && depth < GENERATIONS_MAX; depth++, at = processes.parentOf(at)) {
      const started = processes.startTimeOf(at);
      if (started === undefined) break;
      if (at === agent_pid && started === agent_started) return "itself";
      if (peerRows.isProcessOfPeer(db, at, started)) return "another";
    }
    return undefined;
  }

  /** The process of a peer; a subagent runs in that of its parent. */
  #processOf(peer: StoredPeer): Pick<StoredPeer, "agent_pid" | "agent_started"> {
    if (peer.agent_pid !== null || peer.parent_runtime_id === null) return peer;
    const parent_id = this.#deps.directory.parentOf(peer);
    return parent_id === null ? peer : peerRows.get(this.#deps.db, parent_id) ?? peer;
  }

  /** The peers in whose name a request acts; undefined stands for a sender without a record. */
  #namedBy({ field, otherwise }: Actor, parts: RequestParts): (StoredPeer | undefined)[] {
    const { db, directory, drainedPeers, makerOf, recipientOf } = this.#deps;
    const params = parts.params as Fields | undefined;
    const query = parts.query as Fields | undefined;
    const body = parts.body as Fields | undefined;
    const known = (peer_id: string | undefined) => peer_id === undefined ? [] : [peer_id];
    const [part, name = ""] = field?.split(".") ?? [];
    const value = part && (parts as unknown as Record<string, Fields | undefined>)[part]?.[name];
    if (typeof value === "string") {
      if (part === "params") return [this.#find(value, query as PeerQuery | undefined)];
      const found = directory.findSender(value, { circle: body?.["circle"] as string | undefined });
      return [found && peerRows.get(db, found.peer_id)];
    }
    const peer_ids = {
      recipient: () => known(recipientOf(String(body?.["correlation_id"] ?? params?.["id"]))),
      pane: () => known(this.#peerOfPane(query ?? {})),
      maker: () => known(makerOf(String(params?.["id"]))),
      drained: () => drainedPeers(body ?? {}),
    };
    const found = otherwise === undefined ? [] : peer_ids[otherwise]();
    return found.flatMap((peer_id) => peerRows.get(db, peer_id) ?? []);
  }

  #find(argument: string, query: PeerQuery = {}): StoredPeer | undefined {
    const { db, directory } = this.#deps;
    return peerRows.get(db, directory.find(argument, directory.scopeOf(query)).peer_id);
  }

  #peerOfPane({ pane_id, tmux_socket }: Fields): string | undefined {
    if (typeof pane_id !== "string") return undefined;
    const socket = typeof tmux_socket === "string" ? tmux_socket : undefined;
    return this.#deps.directory.findByPane(pane_id, socket).peer_id;
  }
}

/** Whether the actor is the author of a message or of an answer. */
function isMessage({ field }: Actor): boolean {
  return field === "body.from_peer" || field === "body.created_by";
}

/** Whether something on a peer's record proves who it is, so that its name alone proves nothing. */
function isIdentified({ agent_pid, runtime_session_id }: StoredPeer): boolean {
  return agent_pid !== null || runtime_session_id !== null;
}

function notYours({ peer_id, name }: StoredPeer): Problem {
  return new Problem("not_your_identity", { peer: name, peer_id });
}
