/** Finds the recipient of an ask that names none. Specification 7, "Routing rules for `to_peer`". */

import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Address, Role } from "../../peers/contract.ts";
import type { AskContext, Asks } from "../asks.ts";
import type { OpenAsk } from "../contract.ts";
import {
  type Candidate,
  type Choice,
  type Failure,
  noChoice,
  type Routing,
  type Strategy,
} from "./contract.ts";
import { askEndpoint } from "./endpoint.ts";
import { leastBusy } from "./least_busy.ts";
import { mostRelevant, type PastAnswer } from "./relevance.ts";

/** An ask that leaves its recipient to an arm. */
export type UnnamedAsk = Omit<OpenAsk, "to_peer">;

interface Sender {
  readonly peer_id: string | null;
  readonly name: string;
  readonly circle: string | null;
  readonly role: Role | null;
  readonly mesh_session_id: string | null;
}

interface Scope {
  readonly circle?: string | undefined;
  readonly bypass_circle?: boolean | undefined;
  readonly caller?: Sender;
}

export interface RouterDeps {
  readonly asks: Pick<Asks, "open" | "mustGet">;
  /** Who is who: the peers' directory. */
  readonly directory: {
    sender(argument: string, scope: Scope): Sender;
    target(argument: string, scope: Scope): Address;
  };
  /** Live peers that take messages, of every role and circle. */
  liveCandidates(): Candidate[];
  /** The answers that were given last. */
  recentReplies(): PastAnswer[];
  /** Aborts as the daemon goes down. */
  readonly shutdownSignal: AbortSignal;
}

export interface RouterOptions {
  readonly strategy: Strategy;
  /** An arm that is less sure than this has failed. */
  readonly min_confidence: number;
  readonly allow_service_targets: boolean;
  /** The endpoint of the arm `webhook`. */
  readonly endpoint: string | undefined;
  readonly description_ttl_seconds: number;
}

/** What the endpoint may be asked at once: each holds its ask in memory for up to 5 s. */
const ENDPOINT_ASKS_MAX = 100;

/** What a strategy delivers to only when it is allowed to (specification 7, rule 3). */
const EXCLUDED_ROLES: readonly string[] = ["service", "human"];

/** The refusals of a pick: another recipient may do better. */
const FALLBACK_REFUSALS: ReadonlySet<string> = new Set([
  "unknown_peer",
  "ambiguous_peer",
  "peer_retired",
  "to_self",
  "peer_not_addressable",
  "service_excluded",
  "queue_full",
  "rate_limited",
]);

/** An ask on its way to a recipient. */
interface RoutingRequest {
  readonly body: UnnamedAsk;
  readonly requestContext: AskContext;
  readonly scope: Scope;
}

/** An ask that was opened, and how its recipient was found. */
type Routed = ReturnType<Asks["open"]> & { readonly routing: Routing };

export class Router {
  readonly #ctx: Context;
  readonly #deps: RouterDeps;
  readonly #options: RouterOptions;
  /** Asks that the endpoint thinks about now. */
  #endpointCalls = 0;

  constructor(ctx: Context, deps: RouterDeps, options: RouterOptions) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#options = options;
  }

  /**
   * How to open an ask to whom the arm picks, or else to `fallback_to`, which is checked before
   * anything. An arm of ours picks as it opens, so that no two asks see the same peer as free.
   */
  async find(
    body: UnnamedAsk,
    requestContext: AskContext,
    signal: AbortSignal,
  ): Promise<() => Routed> {
    const { asks, directory } = this.#deps;
    const { circle, bypass_circle } = body;
    const caller = directory.sender(body.from_peer, { circle });
    const request: RoutingRequest = {
      body,
      requestContext,
      scope: { circle, bypass_circle, caller },
    };
    if (body.fallback_to !== undefined) this.#authorize(body.fallback_to, request);
    if (body.reply_to !== undefined) asks.mustGet(body.reply_to);
    const { strategy } = this.#options;
    if (strategy !== "webhook") {
      return () => this.#openOrFallBack(request, this.#choose(strategy, request, caller));
    }
    const choice = await this.#askEndpoint(request, caller, signal);
    return () => this.#openOrFallBack(request, choice);
  }

  #choose(
    strategy: "least_busy" | "relevance",
    { body, scope }: RoutingRequest,
    caller: Sender,
  ): Choice {
    const candidates = this.#candidates(caller, scope);
    if (strategy === "least_busy") return leastBusy(candidates);
    const { description_ttl_seconds } = this.#options;
    const known = {
      candidates,
      recentReplies: this.#deps.recentReplies(),
      description_ttl_seconds,
    };
    return mostRelevant(body.text, known, this.#ctx);
  }

  /** Asks the endpoint. What it is told is on the disk first, as all that leaves the house. */
  async #askEndpoint(
    { body, scope }: RoutingRequest,
    caller: Sender,
    signal: AbortSignal,
  ): Promise<Choice> {
    const { clock, db, log } = this.#ctx;
    const { shutdownSignal } = this.#deps;
    const candidates = this.#candidates(caller, scope)
      .map(({ last_closed_at: _, ...candidate }) => candidate);
    const question = {
      text: body.text,
      from_peer: caller.name,
      from_peer_id: caller.peer_id,
      circle: searchCircle(caller, scope) ?? null,
      candidates,
    };
    await db.whenDurable();
    if (this.#endpointCalls >= ENDPOINT_ASKS_MAX) {
      log.warn("The routing endpoint is asked too much at once", { asks_max: ENDPOINT_ASKS_MAX });
      return noChoice("error");
    }
    const abortSignal = AbortSignal.any([signal, shutdownSignal]);
    const callOptions = { clock, log, signal: abortSignal };
    this.#endpointCalls++;
    const choice = await askEndpoint(this.#options.endpoint ?? "", question, callOptions);
    this.#endpointCalls--;
    // Nobody is left to hear of an ask that would be opened now.
    if (abortSignal.aborted) throw new Problem("shutting_down", {});
    return choice;
  }

  /** To the pick, if it is good enough and may be asked; else to the fallback. */
  #openOrFallBack(request: RoutingRequest, choice: Choice): Routed {
    const { strategy, min_confidence } = this.#options;
    const { fallback_to } = request.body;
    const { confidence } = choice;
    const isUnsure = confidence < min_confidence;
    const opened = choice.peer === null || isUnsure ? undefined : this.#tryOpen(request, choice);
    if (opened) return opened;
    const failure = choice.peer === null ? choice.failure : isUnsure ? "low_confidence" : "refused";
    if (fallback_to === undefined) {
      throw new Problem("router_unavailable", { arm: strategy, reason: failure });
    }
    return this.#open(request, fallback_to, { confidence, failure });
  }

  /** Undefined when this recipient, and not the ask, is refused: nothing of it is left behind. */
  #tryOpen(request: RoutingRequest, { peer, confidence }: { peer: string; confidence: number }) {
    try {
      return this.#open(request, peer, { confidence, failure: null });
    } catch (error) {
      if (error instanceof Problem && FALLBACK_REFUSALS.has(error.code)) return undefined;
      throw error;
    }
  }

  /** Opens the ask as if it had named this peer, and says how it came to it. */
  #open(
    request: RoutingRequest,
    argument: string,
    { confidence, failure }: { confidence: number; failure: Failure | null },
  ): Routed {
    const { body, requestContext } = request;
    const { peer_id, name } = this.#authorize(argument, request);
    const routing: Routing = {
      arm: this.#options.strategy,
      routed_to: name,
      routed_to_peer_id: peer_id,
      confidence: Math.round(confidence * 1000) / 1000,
      fallback: failure !== null,
      fallback_reason: failure,
    };
    const opened = this.#deps.asks.open({ ...body, to_peer: peer_id }, {
      ...requestContext,
      routing,
    });
    return { ...opened, routing };
  }

  /** A recipient as good as a named one, and of a role that may be picked. */
  #authorize(argument: string, { scope }: RoutingRequest): Address {
    const found = this.#deps.directory.target(argument, scope);
    if (EXCLUDED_ROLES.includes(found.role) && !this.#options.allow_service_targets) {
      throw new Problem("service_excluded", { peer: argument, role: found.role });
    }
    return found;
  }

  /** Whom an arm may pick: whom the sender would find by name, and never itself. */
  #candidates(caller: Sender, scope: Scope): Candidate[] {
    const circle = searchCircle(caller, scope);
    return this.#deps.liveCandidates().filter((peer) => {
      if (peer.peer_id === caller.peer_id) return false;
      if (EXCLUDED_ROLES.includes(peer.role)) return this.#options.allow_service_targets;
      return circle === undefined || peer.circle === circle;
    });
  }
}

/** The circle that an ask looks in; undefined is all (contract 1, "A peer argument"). */
function searchCircle(caller: Sender, { circle, bypass_circle }: Scope): string | undefined {
  if (circle !== undefined) return circle;
  return bypass_circle || caller.role === "human" ? undefined : caller.circle ?? undefined;
}
