/** Chooses the recipient of an ask without `to_peer` (specification 7, "Routing rules"). */

import type { Context } from "../../../data/context.ts";
import { Refusal } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import type { Address } from "protocol/peers/record.ts";
import type { Directory, Sender } from "../../peers/directory.ts";
import type { Scope } from "../../peers/identity/name_lookup.ts";
import type { AskContext, Asks } from "../asks.ts";
import type { OpenAsk } from "protocol/asks/contract.ts";
import {
  type Candidate,
  type Choice,
  lastReplies,
  liveCandidates,
  noChoice,
} from "./candidates.ts";
import type { Routing, Strategy } from "protocol/asks/routing.ts";
import { askEndpoint } from "./endpoint.ts";
import { leastBusy } from "./least_busy.ts";
import { mostRelevant } from "./relevance.ts";

/** An ask without a recipient. */
export type UnnamedAsk = Omit<OpenAsk, "to_peer">;

/** Questions of routing to higher features. */
export interface RoutingPorts {
  /** True if the account of a peer is at a limit. */
  isLimited(peer_id: string): boolean;
}

interface RouterDeps {
  readonly asks: Asks;
  readonly directory: Directory;
  readonly ports: RoutingPorts;
  /** Sends a request to a server outside. */
  readonly send: (request: Request) => Promise<Response>;
  /** Aborts when the daemon shuts down. */
  readonly shutdownSignal: AbortSignal;
  readonly strategy: Strategy;
  /** A choice with less confidence counts as a failure. */
  readonly min_confidence: number;
  readonly allow_service_targets: boolean;
  /** The URL for the strategy `webhook`. */
  readonly endpoint: string | undefined;
  readonly description_ttl_seconds: number;
}

/** Maximum concurrent requests to the endpoint. Each keeps its ask in memory for up to 5 s. */
const ENDPOINT_ASKS_MAX = 100;

/** Roles that a strategy chooses only with `allow_service_targets` (specification 7, rule 3). */
const EXCLUDED_ROLES: readonly string[] = ["service", "human"];

/** Error codes of an ask to the chosen peer after which the fallback is tried. */
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

/** An ask that is being routed. */
interface RoutingRequest {
  readonly body: UnnamedAsk;
  readonly requestContext: AskContext;
  readonly caller: Sender;
  readonly scope: Scope;
}

/** An opened ask, and the choice of its recipient. */
type RoutedAsk = ReturnType<Asks["open"]> & { readonly routing: Routing };

export class Router {
  readonly #ctx: Context;
  readonly #deps: RouterDeps;
  /** Number of running requests to the endpoint. */
  #endpointCalls = 0;

  constructor(ctx: Context, deps: RouterDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /**
   * Returns a function that opens the ask to the chosen peer or, failing that, to `fallback_to`.
   * `fallback_to` is checked at once. The strategies other than `webhook` choose when that function
   * runs. It is synchronous, so that two concurrent asks do not both see a peer as free.
   */
  async find(
    body: UnnamedAsk,
    requestContext: AskContext,
    signal: AbortSignal,
  ): Promise<() => RoutedAsk> {
    const { asks, directory } = this.#deps;
    const { circle, bypass_circle } = body;
    const caller = directory.sender(body.from_peer, { circle });
    const scope = { circle, bypass_circle, caller };
    const request: RoutingRequest = { body, requestContext, caller, scope };
    if (body.fallback_to !== undefined) this.#authorize(body.fallback_to, request);
    if (body.reply_to !== undefined) asks.mustGet(body.reply_to);
    const { strategy } = this.#deps;
    if (strategy !== "webhook") {
      return () => this.#openOrFallBack(request, this.#choose(strategy, request));
    }
    const choice = await this.#askEndpoint(request, signal);
    return () => this.#openOrFallBack(request, choice);
  }

  #choose(strategy: "least_busy" | "relevance", request: RoutingRequest): Choice {
    const candidates = this.#candidates(request);
    if (strategy === "least_busy") return leastBusy(candidates);
    const { description_ttl_seconds } = this.#deps;
    const recentReplies = lastReplies(this.#ctx.db);
    const known = { candidates, recentReplies, description_ttl_seconds };
    return mostRelevant(request.body.text, known, this.#ctx);
  }

  /** Asks the endpoint, after the data that is sent to it is durable. */
  async #askEndpoint(request: RoutingRequest, signal: AbortSignal): Promise<Choice> {
    const { clock, db, log } = this.#ctx;
    const { body, caller } = request;
    const question = {
      text: body.text,
      from_peer: caller.name,
      from_peer_id: caller.peer_id,
      circle: searchCircle(request) ?? null,
      candidates: this.#candidates(request).map(({ last_closed_at: _, ...candidate }) => candidate),
    };
    await db.whenDurable();
    if (this.#endpointCalls >= ENDPOINT_ASKS_MAX) {
      log.warn("Too many requests to the routing endpoint", { requests_max: ENDPOINT_ASKS_MAX });
      return noChoice("error");
    }
    const abortSignal = AbortSignal.any([signal, this.#deps.shutdownSignal]);
    const callOptions = { clock, log, send: this.#deps.send, signal: abortSignal };
    this.#endpointCalls++;
    const choice = await askEndpoint(this.#deps.endpoint ?? "", question, callOptions);
    this.#endpointCalls--;
    // Do not open the ask, because the caller is gone or the daemon shuts down.
    if (abortSignal.aborted) throw new Problem("shutting_down", {});
    return choice;
  }

  /**
   * Opens the ask to the chosen peer if the confidence suffices and the peer may be asked;
   * otherwise rolls back what it wrote, and opens it to the fallback.
   */
  #openOrFallBack(request: RoutingRequest, choice: Choice): RoutedAsk {
    const { strategy, min_confidence } = this.#deps;
    const { fallback_to } = request.body;
    const { confidence, peer } = choice;
    const isUnsure = confidence < min_confidence;
    if (peer !== null && !isUnsure) {
      const chosen = { confidence, fallback_reason: null };
      try {
        return this.#ctx.db.transactNested(() => this.#open(request, peer, chosen));
      } catch (error) {
        if (!(error instanceof Refusal && FALLBACK_REFUSALS.has(error.code))) throw error;
      }
    }
    const fallback_reason = choice.peer === null
      ? choice.failure
      : isUnsure
      ? "low_confidence"
      : "refused";
    if (fallback_to === undefined) {
      throw new Problem("router_unavailable", { arm: strategy, reason: fallback_reason });
    }
    return this.#open(request, fallback_to, { confidence, fallback_reason });
  }

  /** Opens the ask as if it named this peer, and records the choice of the peer. */
  #open(
    request: RoutingRequest,
    argument: string,
    { confidence, fallback_reason }: Pick<Routing, "confidence" | "fallback_reason">,
  ): RoutedAsk {
    const { body, requestContext } = request;
    const { peer_id, name } = this.#authorize(argument, request);
    const routing: Routing = {
      arm: this.#deps.strategy,
      routed_to: name,
      routed_to_peer_id: peer_id,
      confidence: Math.round(confidence * 1000) / 1000,
      fallback: fallback_reason !== null,
      fallback_reason,
    };
    const askContext = { ...requestContext, routing };
    const opened = this.#deps.asks.open({ ...body, to_peer: peer_id }, askContext);
    return { ...opened, routing };
  }

  /** Checks a recipient as if the ask had named it, and checks that its role may be chosen. */
  #authorize(argument: string, { scope }: RoutingRequest): Address {
    const found = this.#deps.directory.target(argument, scope);
    if (EXCLUDED_ROLES.includes(found.role) && !this.#deps.allow_service_targets) {
      throw new Problem("service_excluded", { peer: argument, role: found.role });
    }
    return found;
  }

  /**
   * The peers to choose from: those of the circle, except the sender itself, and those whose
   * account is at a limit unless all are.
   */
  #candidates(request: RoutingRequest): Candidate[] {
    const circle = searchCircle(request);
    const found = liveCandidates(this.#ctx).filter((peer) => {
      if (peer.peer_id === request.caller.peer_id) return false;
      if (EXCLUDED_ROLES.includes(peer.role)) return this.#deps.allow_service_targets;
      return circle === undefined || peer.circle === circle;
    });
    const free = found.filter(({ peer_id }) => !this.#deps.ports.isLimited(peer_id));
    return free.length > 0 ? free : found;
  }
}

/** The circle of the candidates: that of the ask, or of its sender; undefined means all. */
function searchCircle({ body, caller }: RoutingRequest): string | undefined {
  const { circle, bypass_circle } = body;
  if (circle !== undefined) return circle;
  return bypass_circle || caller.role === "human" ? undefined : caller.circle ?? undefined;
}
