/** The end of an ask, whichever way it came: its row, its event, its asker, those who wait. */

import { timeout } from "kit/core/timeout.ts";
import type { Ground } from "kit/data/context.ts";
import type { Attachments } from "../messages/attachments/contract.ts";
import type { Held, Opening } from "../messages/contract.ts";
import type { Address, Voice } from "../peers/contract.ts";
import type { Ask, Outcome, TypedAnswer } from "./contract.ts";
import type { Question } from "../messages/question.ts";
import { askMachine, type CloseReason, CLOSINGS } from "./machine.ts";

/** The way out: the delivery desk. */
export interface Post {
  send(draft: {
    kind: "ask" | "ack";
    from: { peer_id: string | null; name: string };
    to: Address;
    voice: Voice;
    text: string;
    circle: string | null;
    attachments?: Attachments;
    correlation_id?: string | null;
    reply_to?: string | null;
    question?: Question | null;
    traceparent?: string | undefined;
    closing?: Pick<Held, "close_reason" | "outcome">;
    opening?: Opening;
  }): { readonly message: Held; readonly state: Held["state"] };
  /** Its ask is closed; whether the message may have reached the recipient. */
  release(correlation_id: string, reason: string): boolean;
}

/** The human's side: what is asked of the human, and what comes back to it. */
export interface HumanDoor {
  take(message: Held, reply_to_item?: string): { item_id: string; surfaces: string[] };
  closed(ask: Ask): void;
}

export interface EndingsNeeds {
  readonly directory: {
    human(): Address | undefined;
    voiceOf(from: { role: Address["role"] | null; name: string }, proven_human?: boolean): Voice;
  };
  readonly ledger: { close(closed: Ask, at: number): void };
  readonly post: Post;
  readonly human: HumanDoor;
  /** A peer's address by its exact id, however it fares. */
  address(peer_id: string): Address | undefined;
}

/** Who brought the end about, and with which words. */
export interface Ending {
  readonly responder: string | null;
  readonly proven_human?: boolean;
  readonly traceparent?: string | undefined;
  readonly reply?: string | null;
  readonly answer?: TypedAnswer | null;
  /** True when somebody else than the recipient brought it about. */
  readonly elsewhere?: boolean;
  /** What the end stands for, where that is not what its reason stands for. */
  readonly outcome?: Outcome;
  readonly attachments?: Attachments;
}

type Waiter = (ask: Ask | undefined) => void;

export class Endings {
  readonly #ground: Ground;
  readonly #needs: EndingsNeeds;
  readonly #waiting = new Map<string, Set<Waiter>>();

  constructor(ground: Ground, needs: EndingsNeeds) {
    this.#ground = ground;
    this.#needs = needs;
  }

  /** Closes an ask: its row, its event, its asker, and those who wait. */
  settle(
    ask: Ask,
    close_reason: CloseReason,
    { responder, reply = null, answer = null, attachments = [], ...known }: Ending,
  ): CloseReason {
    const { db, events, clock } = this.#ground;
    const { ledger, post, human } = this.#needs;
    const [on, meant] = CLOSINGS[close_reason];
    const outcome = known.outcome ?? answer?.outcome ?? meant;
    const at = clock.now();
    const state = askMachine.step(ask.state, on);
    const voice = this.#voiceOf({ ...ask, responder }, "asker", known.proven_human ?? false);
    const settled: Ask = {
      ...ask,
      state,
      close_reason,
      outcome,
      reply,
      answer,
      responder,
      reply_voice: responder === null ? null : voice,
      reply_attachments: attachments,
      status: "resolved",
      closed_at: at,
    };
    ledger.close(settled, at);
    // The recipient's own word proves its delivery; another's does not.
    const why = known.elsewhere ? `${close_reason}_elsewhere` : close_reason;
    const reached = post.release(ask.correlation_id, why);
    human.closed(settled);
    events.append("ack", {
      correlation_id: ask.correlation_id,
      close_reason,
      outcome,
      from_peer_id: ask.to_peer_id,
      from: ask.to_peer_name,
      to_peer_id: ask.from_peer_id,
      to: ask.from_peer_name,
    });
    if (answer) {
      const { correlation_id, question } = ask;
      events.append("answer", { correlation_id, scope: question?.scope ?? null, outcome });
    }
    if (close_reason !== "cancelled") this.#tell(settled, "asker", known);
    else if (reached && responder !== null) this.#tell(settled, "recipient", known);
    db.afterCommit(() => this.#wake(settled));
    return close_reason;
  }

  /** Sends the end of an ask to whoever does not know it; in pull mode the asker comes for it. */
  #tell(
    ask: Ask,
    end: "asker" | "recipient",
    { proven_human = false, traceparent }: Pick<Ending, "proven_human" | "traceparent">,
  ): void {
    if (end === "asker" && (ask.reply_delivery === "pull" || ask.from_peer_id === null)) return;
    const to_id = end === "asker" ? ask.from_peer_id : ask.to_peer_id;
    const to = to_id ? this.#needs.address(to_id) : undefined;
    if (!to || to.status === "retired") return;
    if (!to.addressable) {
      const dropped = { peer_id: to.peer_id, count: 1, reason: "peer_not_addressable" };
      return this.#ground.events.append("deliveries_dropped", dropped);
    }
    const asker = { peer_id: ask.from_peer_id, name: ask.from_peer_name };
    const recipient = { peer_id: ask.to_peer_id, name: ask.to_peer_name };
    const ticket = this.#needs.post.send({
      kind: "ack",
      from: end === "asker" ? recipient : asker,
      to,
      voice: this.#voiceOf(ask, end, proven_human),
      text: ask.reply ?? "",
      attachments: ask.reply_attachments,
      circle: ask.circle,
      correlation_id: ask.correlation_id,
      traceparent,
      closing: { close_reason: ask.close_reason, outcome: ask.outcome },
    });
    if (to.role === "human") this.#needs.human.take(ticket.message);
  }

  /** Whose word the end of an ask is: `end` hears it, the other side speaks. */
  #voiceOf(ask: Ask, end: "asker" | "recipient", proven_human: boolean): Voice {
    const { directory, address } = this.#needs;
    if (ask.responder === null) return "peer"; // The daemon has closed it.
    const [peer_id, name] = end === "asker"
      ? [ask.to_peer_id, ask.to_peer_name]
      : [ask.from_peer_id, ask.from_peer_name];
    const role = peer_id === null ? null : address(peer_id)?.role ?? null;
    return directory.voiceOf({ role, name }, proven_human);
  }

  /** The ask's end once it comes; undefined when the time is up first, or the caller is gone. */
  async next(
    correlation_id: string,
    ms_max: number,
    signal: AbortSignal,
  ): Promise<Ask | undefined> {
    const settled = Promise.withResolvers<Ask | undefined>();
    const waiters = this.#waiting.getOrInsertComputed(correlation_id, () => new Set());
    waiters.add(settled.resolve);
    try {
      return await timeout(this.#ground.clock, ms_max, settled.promise, signal);
    } finally {
      waiters.delete(settled.resolve);
      if (waiters.size === 0) this.#waiting.delete(correlation_id);
    }
  }

  /** Wakes everyone who waits, with nothing: the daemon goes, the asks stay. */
  dismiss(): void {
    for (const waiters of this.#waiting.values()) waiters.forEach((wake) => wake(undefined));
  }

  #wake(settled: Ask): void {
    this.#waiting.get(settled.correlation_id)?.forEach((wake) => wake(settled));
  }
}
