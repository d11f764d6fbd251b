/** Decides if a caller may act in the name of the peer that its request names (contract 11). */

import type { Actor } from "kit/http/contract.ts";
import type { Caller, RequestParts } from "kit/http/route.ts";
import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import type { Database } from "kit/data/sqlite.ts";
import { Verb } from "protocol/origins/policy.ts";
import { Problem } from "protocol/problems.ts";
import { type SettleDeliveries, settleDeliveries } from "protocol/messages/contract.ts";
import type { Budgets } from "../../features/budgets/budgets.ts";
import type { Origins } from "../../features/origins/origins.ts";
import type { Directory } from "../../features/peers/directory.ts";
import type { IdentityLookup } from "../../features/peers/identity/identity_lookup.ts";
import { recordedProcess } from "../../features/peers/identity/known_peer.ts";
import type { ActingPeer } from "../../features/peers/store.ts";
import { isSubagent } from "../../features/peers/subagents.ts";
import type { ProcessId } from "../../host/processes.ts";
import type { Callers } from "./callers.ts";
import type { CallingPeers } from "./calling_peers.ts";

/** The header with a peer's birth certificate, which proves that the caller is that peer. */
const CERTIFICATE_HEADER = "x-mesh-certificate";

interface ActorsDeps {
  readonly budgets: Pick<Budgets, "inheritWork" | "isAny" | "workOf">;
  readonly db: Database;
  readonly callers: Callers;
  readonly callingPeers: Pick<CallingPeers, "certifiedId">;
  readonly directory: Directory;
  readonly origins: Pick<Origins, "chainOf" | "hasRules" | "mustAllow">;
  readonly identityLookup: Pick<IdentityLookup, "get" | "looksLikeIdentified">;
  /** The recipient of an ask; undefined for an unknown ask. */
  recipientOf(correlation_id: string): string | undefined;
  /** The peer that made a schedule or a subscription; undefined for an unknown record. */
  makerOf(id: string): string | undefined;
  /** The recipients of the deliveries that a receipt resolves. */
  drainedPeers(receipt: Omit<SettleDeliveries, "status">): string[];
}

/** The peer in whose name a request acts; undefined for a sender without a record. */
interface Claim {
  readonly peer: ActingPeer | undefined;
  /** True if something identifies the peer, or the peer that the sender's name looks like. */
  readonly needs_proof: boolean;
}

export class Actors {
  readonly #deps: ActorsDeps;

  constructor(deps: ActorsDeps) {
    this.#deps = deps;
  }

  /**
   * The caller with its proof. Throws `not_your_identity` if it is proved to be another registered
   * peer, or if it would take messages from a queue without a proof.
   */
  check(actor: Actor, parts: RequestParts, verb?: string): Caller | Promise<Caller> {
    const { caller, headers } = parts;
    if (verb !== undefined) this.#mustAllow(Verb.parse(verb), actor, parts);
    // A tool or a verb of `/ws`, whose caller the daemon has identified already.
    if (caller.remote === undefined && caller.via === undefined) return caller;
    const certificate = headers.get(CERTIFICATE_HEADER);
    if (certificate === null) return this.#decide(actor, parts, undefined);
    return this.#deps.callingPeers.certifiedId(certificate)
      .then((peer_id) => this.#decide(actor, parts, peer_id));
  }

  /**
   * Throws `policy_denied` if a rule denies the act to the chain of the named peer's work, or to that
   * of the peer whose process sends the request.
   */
  #mustAllow(verb: Verb, actor: Actor, parts: RequestParts): void {
    const { callers, directory, origins } = this.#deps;
    if (!origins.hasRules) return;
    const { body, caller, headers } = parts;
    if (callers.isHuman(caller, headers)) return;
    const calling_peer = caller.remote && callers.peerOf(caller);
    const [field = ""] = actor.field?.split(".").slice(-1) ?? [];
    const name = textOf(body, field) ?? ANONYMOUS_SENDER;
    const found = directory.findSender(name, { circle: textOf(body, "circle") });
    const from = { peer_id: found?.peer_id ?? null, name: found?.name ?? name };
    const proofs = { via: caller.via, calling_peer: () => calling_peer };
    for (const peer_id of new Set([from.peer_id, calling_peer ?? from.peer_id])) {
      const chain = origins.chainOf({ from: { ...from, peer_id }, proofs, id: name });
      origins.mustAllow(chain, { verb, from });
    }
  }

  /** The peer that the caller's certificate names, if it sends one. */
  async certifiedPeer(headers: Headers): Promise<string | undefined> {
    const certificate = headers.get(CERTIFICATE_HEADER);
    return certificate === null
      ? undefined
      : await this.#deps.callingPeers.certifiedId(certificate);
  }

  /** True if the caller is proved to be a registered peer other than this peer. */
  isAnother(peer: ActingPeer, caller: Pick<Caller, "remote">): boolean {
    return this.#compare(peer, caller) === "another";
  }

  #decide(actor: Actor, parts: RequestParts, certified: string | undefined): Caller {
    const { caller, headers } = parts;
    const named = this.#namedBy(actor, parts);
    const isUnproved = named.map((claim) => {
      const { peer } = claim;
      if (certified !== undefined && peer?.peer_id === certified) {
        this.#takeBudget(certified, caller);
        return false;
      }
      // A message in the human's name is marked by its own rule (contract 2).
      if (peer?.role === "human" && isMessage(actor)) return false;
      if (peer === undefined && startsWork(actor)) this.#mustHaveNoBudget(caller);
      const isProved = this.#isProved(claim, caller, headers);
      if (actor.drains && !isProved && peer) throw notYours(peer);
      return !isProved;
    });
    return isUnproved.includes(true) ? { ...caller, unverified: true } : caller;
  }

  /** True if the caller is the peer or a person, or if no proof of the peer exists. */
  #isProved({ peer, needs_proof }: Claim, caller: Caller, headers: Headers): boolean {
    const found = this.#compare(peer, caller);
    if (found === "itself") return true;
    if (found === "another" && peer) throw notYours(peer);
    if (found === "another") return false; // An agent that uses the name of no peer.
    return !needs_proof || this.#deps.callers.isHuman(caller, headers);
  }

  /** A message in the name of no peer would leave the budget of the agent that sends it. */
  #mustHaveNoBudget(caller: Caller): void {
    const { budgets, callers, db } = this.#deps;
    const agent = budgets.isAny ? callers.agentOf(caller) : undefined;
    if (!agent || budgets.workOf(db, agent.peer_id) === undefined) return;
    throw new Problem("budget_of_other_name", { peer: agent.name, peer_id: agent.peer_id });
  }

  /** A program that an agent has started counts to the budget of the agent's work. */
  #takeBudget(peer_id: string, caller: Caller): void {
    const { budgets, callers, db } = this.#deps;
    const agent = budgets.isAny ? callers.agentOf(caller) : undefined;
    if (agent) db.transact((tx) => budgets.inheritWork(tx, peer_id, agent.peer_id));
  }

  /** Compares a peer with the nearest registered peer at or above the calling process. */
  #compare(
    named: ActingPeer | undefined,
    caller: Pick<Caller, "remote">,
  ): "itself" | "another" | undefined {
    return this.#deps.callers.compare(named ? this.#processOf(named) : null, caller);
  }

  /** The process of a peer; a subagent without a session runs in that of its parent. */
  #processOf(peer: ActingPeer): ProcessId | null {
    if (isIdentified(peer) || !isSubagent(peer)) return recordedProcess(peer);
    const { directory, identityLookup } = this.#deps;
    const parent = identityLookup.get(directory.parentOf(peer) ?? "");
    return parent ? recordedProcess(parent) : null;
  }

  /** The peers, or the sender without a record, in whose name a request acts. */
  #namedBy({ field, otherwise }: Actor, parts: RequestParts): Claim[] {
    const { directory, identityLookup } = this.#deps;
    const { params, query, body } = parts;
    const [part = "", name = ""] = field?.split(".") ?? [];
    const value = textOf(part === "params" ? params : part === "query" ? query : body, name);
    if (value === undefined) {
      const peer_ids = otherwise === undefined ? [] : this.#others(otherwise, parts);
      return peer_ids.flatMap((peer_id) => identityLookup.get(peer_id) ?? []).map(toClaim);
    }
    if (part === "params") {
      const scope = { circle: textOf(query, "circle"), from_peer: textOf(query, "from_peer") };
      const { peer_id } = directory.findFor(value, scope);
      const named = identityLookup.get(peer_id);
      return named ? [toClaim(named)] : [];
    }
    const found = directory.findSender(value, { circle: textOf(body, "circle") });
    const peer = found && identityLookup.get(found.peer_id);
    if (peer) return [toClaim(peer)];
    return [{ peer: undefined, needs_proof: identityLookup.looksLikeIdentified(value) }];
  }

  /** The ids of the peers that act if no field names them. */
  #others(
    otherwise: NonNullable<Actor["otherwise"]>,
    { params, query, body }: RequestParts,
  ): string[] {
    const { directory, drainedPeers, makerOf, recipientOf } = this.#deps;
    if (otherwise === "drained") return drainedPeers(settleDeliveries.body.parse(body));
    const id = textOf(params, "id") ?? "";
    const pane_id = textOf(query, "pane_id");
    const peer_id = otherwise === "recipient"
      ? recipientOf(textOf(body, "correlation_id") ?? id)
      : otherwise === "maker"
      ? makerOf(id)
      : pane_id && directory.findByPane(pane_id, textOf(query, "tmux_socket")).peer_id;
    return peer_id ? [peer_id] : [];
  }
}

/** A field of a parsed part of a request, if it is a text. */
function textOf(part: unknown, name: string): string | undefined {
  if (typeof part !== "object" || part === null) return undefined;
  const value: unknown = Reflect.get(part, name);
  return typeof value === "string" ? value : undefined;
}

/** True if the actor is the author of a message or of an answer. */
function isMessage({ field }: Actor): boolean {
  return field === "body.from_peer" || field === "body.created_by";
}

/** True for the author of something new. Answers pass, whatever is used of a budget. */
function startsWork(actor: Actor): boolean {
  return isMessage(actor) && actor.otherwise === undefined;
}

function toClaim(peer: ActingPeer): Claim {
  return { peer, needs_proof: isIdentified(peer) };
}

/** True if something on a peer's record proves who it is, so that its name alone proves nothing. */
function isIdentified({ agent_pid, runtime_session_id }: ActingPeer): boolean {
  return agent_pid !== null || runtime_session_id !== null;
}

function notYours({ peer_id, name }: ActingPeer): Problem {
  return new Problem("not_your_identity", { peer: name, peer_id });
}
