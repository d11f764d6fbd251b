/** Finds the recipient of an ask that names none. Specification 7, "Routing rules for `to_peer`". */

import type { Ground } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Address, Role } from "../../peers/contract.ts";
import type { Asks, Manner } from "../asks.ts";
import type { OpenAsk } from "../contract.ts";
import {
  type Arm,
  type Candidate,
  type Choice,
  type Failure,
  nobody,
  type Routing,
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

export interface RouterNeeds {
  readonly asks: Pick<Asks, "open" | "mustGet">;
  /** Who is who: the peers' directory. */
  readonly directory: {
    sender(argument: string, scope: Scope): Sender;
    target(argument: string, scope: Scope): Address;
  };
  /** Live peers that take messages, of every role and circle. */
  live(): Candidate[];
  /** The answers that were given last. */
  answers(): PastAnswer[];
  /** Aborts as the daemon goes down. */
  readonly ending: AbortSignal;
}

export interface RouterOptions {
  readonly arm: Arm;
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
const EXCLUDED: readonly string[] = ["service", "human"];

/** The refusals of a pick: another recipient may do better. */
const REFUSALS: ReadonlySet<string> = new Set([
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
interface Errand {
  readonly body: UnnamedAsk;
  readonly manner: Manner;
  readonly scope: Scope;
}

/** An ask that was opened, and how its recipient was found. */
type Routed = ReturnType<Asks["open"]> & { readonly routing: Routing };

export class Router {
  readonly #ground: Ground;
  readonly #needs: RouterNeeds;
  readonly #options: RouterOptions;
  /** Asks that the endpoint thinks about now. */
  #asking = 0;

  constructor(ground: Ground, needs: RouterNeeds, options: RouterOptions) {
    this.#ground = ground;
    this.#needs = needs;
    this.#options = options;
  }

  /**
   * How to open an ask to whom the arm picks, or else to `fallback_to`, which is checked before
   * anything. An arm of ours picks as it opens, so that no two asks see the same peer as free.
   */
  async find(body: UnnamedAsk, manner: Manner, signal: AbortSignal): Promise<() => Routed> {
    const { asks, directory } = this.#needs;
    const { circle, bypass_circle } = body;
    const caller = directory.sender(body.from_peer, { circle });
    const errand: Errand = { body, manner, scope: { circle, bypass_circle, caller } };
    if (body.fallback_to !== undefined) this.#authorize(body.fallback_to, errand);
    if (body.reply_to !== undefined) asks.mustGet(body.reply_to);
    const { arm } = this.#options;
    if (arm !== "webhook") return () => this.#deliver(errand, this.#pick(arm, errand, caller));
    const choice = await this.#consult(errand, caller, signal);
    return () => this.#deliver(errand, choice);
  }

  #pick(arm: "least_busy" | "relevance", { body, scope }: Errand, caller: Sender): Choice {
    const candidates = this.#candidates(caller, scope);
    if (arm === "least_busy") return leastBusy(candidates);
    const { description_ttl_seconds } = this.#options;
    const known = { candidates, answers: this.#needs.answers(), description_ttl_seconds };
    return mostRelevant(body.text, known, this.#ground.log);
  }

  /** Asks the endpoint. What it is told is on the disk first, as all that leaves the house. */
  async #consult({ body, scope }: Errand, caller: Sender, signal: AbortSignal): Promise<Choice> {
    const { clock, db, log } = this.#ground;
    const { ending } = this.#needs;
    const candidates = this.#candidates(caller, scope)
      .map(({ last_closed_at: _, ...candidate }) => candidate);
    const question = {
      text: body.text,
      from_peer: caller.name,
      from_peer_id: caller.peer_id,
      circle: within(caller, scope) ?? null,
      candidates,
    };
    await db.durable();
    if (this.#asking >= ENDPOINT_ASKS_MAX) {
      log.warn("The routing endpoint is asked too much at once", { asks_max: ENDPOINT_ASKS_MAX });
      return nobody("error");
    }
    const until = AbortSignal.any([signal, ending]);
    const asking = { clock, log, signal: until };
    this.#asking++;
    const choice = await askEndpoint(this.#options.endpoint ?? "", question, asking);
    this.#asking--;
    // Nobody is left to hear of an ask that would be opened now.
    if (until.aborted) throw new Problem("shutting_down", {});
    return choice;
  }

  /** To the pick, if it is good enough and may be asked; else to the fallback. */
  #deliver(errand: Errand, choice: Choice): Routed {
    const { arm, min_confidence } = this.#options;
    const { fallback_to } = errand.body;
    const { confidence } = choice;
    const unsure = confidence < min_confidence;
    const opened = choice.peer === null || unsure ? undefined : this.#tryPick(errand, choice);
    if (opened) return opened;
    const failure = choice.peer === null ? choice.failure : unsure ? "low_confidence" : "refused";
    if (fallback_to === undefined) {
      throw new Problem("router_unavailable", { arm, reason: failure });
    }
    return this.#open(errand, fallback_to, { confidence, failure });
  }

  /** Undefined when this recipient, and not the ask, is refused: nothing of it is left behind. */
  #tryPick(errand: Errand, { peer, confidence }: { peer: string; confidence: number }) {
    try {
      return this.#open(errand, peer, { confidence, failure: null });
    } catch (fault) {
      if (fault instanceof Problem && REFUSALS.has(fault.code)) return undefined;
      throw fault;
    }
  }

  /** Opens the ask as if it had named this peer, and says how it came to it. */
  #open(
    errand: Errand,
    argument: string,
    { confidence, failure }: { confidence: number; failure: Failure | null },
  ): Routed {
    const { body, manner } = errand;
    const { peer_id, name } = this.#authorize(argument, errand);
    const routing: Routing = {
      arm: this.#options.arm,
      routed_to: name,
      routed_to_peer_id: peer_id,
      confidence: Math.round(confidence * 1000) / 1000,
      fallback: failure !== null,
      fallback_reason: failure,
    };
    const opened = this.#needs.asks.open({ ...body, to_peer: peer_id }, { ...manner, routing });
    return { ...opened, routing };
  }

  /** A recipient as good as a named one, and of a role that may be picked. */
  #authorize(argument: string, { scope }: Errand): Address {
    const found = this.#needs.directory.target(argument, scope);
    if (EXCLUDED.includes(found.role) && !this.#options.allow_service_targets) {
      throw new Problem("service_excluded", { peer: argument, role: found.role });
    }
    return found;
  }

  /** Whom an arm may pick: whom the sender would find by name, and never itself. */
  #candidates(caller: Sender, scope: Scope): Candidate[] {
    const circle = within(caller, scope);
    return this.#needs.live().filter((peer) => {
      if (peer.peer_id === caller.peer_id) return false;
      if (EXCLUDED.includes(peer.role)) return this.#options.allow_service_targets;
      return circle === undefined || peer.circle === circle;
    });
  }
}

/** The circle that an ask looks in; undefined is all (contract 1, "A peer argument"). */
function within(caller: Sender, { circle, bypass_circle }: Scope): string | undefined {
  if (circle !== undefined) return circle;
  return bypass_circle || caller.role === "human" ? undefined : caller.circle ?? undefined;
}
