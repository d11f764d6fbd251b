/** The asks desk. Every change to an ask happens here, in one synchronous transaction. */

import type { Ground } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Attachments } from "../messages/attachments/contract.ts";
import type { Address, Role, Voice } from "../peers/contract.ts";
import { choose, closed, toResolution } from "./answers.ts";
import {
  type AckAsk,
  type Ask,
  type DeclineAsk,
  type OpenAsk,
  PENDING,
  type Resolution,
  type Thread,
} from "./contract.ts";
import { Endings, type HumanDoor, type Post } from "./resolution.ts";
import { askMachine, type CloseReason } from "./machine.ts";
import { sayQuestion } from "./questions/texts.ts";
import type { Routing } from "./routing/contract.ts";

/** Asks that are evicted in one beat, so that no beat is long. */
const EVICT_ROWS_MAX = 200;

interface Sender {
  readonly peer_id: string | null;
  readonly name: string;
  readonly circle: string | null;
  readonly role: Role | null;
}

interface Scope {
  readonly circle?: string | undefined;
  readonly bypass_circle?: boolean | undefined;
  readonly caller?: Sender & { readonly mesh_session_id: string | null };
}

/** Who is who: the peers' directory. */
interface Directory {
  sender(argument: string, scope?: Scope): Sender & { readonly mesh_session_id: string | null };
  target(argument: string, scope: Scope): Address;
  human(): Address | undefined;
  /** Whose word a message counts as (contract 2). */
  voiceOf(from: Pick<Sender, "role" | "name">, proven_human?: boolean): Voice;
}

/** Threads that one look at the history tells; the next look begins where this one ends. */
const THREADS_MAX = 1000;

/** Which asks to list: newest first, before a number of the ledger. */
export interface Page {
  readonly state: string | null;
  readonly peer_id: string | null;
  readonly before: number;
  readonly limit: number;
}

/** What the ledger keeps of asks. */
interface AskLedger {
  ask(correlation_id: string): Ask | undefined;
  openTo(peer_id: string): Ask[];
  openFrom(sender: { peer_id: string | null; name: string }): Ask[];
  page(filter: Page): (Ask & { seq: number })[];
  stale(before: number, human_id: string | null, limit: number): Ask[];
  threads(of: { peer_id: string; since: number; limit: number }): Thread[];
  close(closed: Ask, at: number): void;
  pull(correlation_id: string): void;
}

export interface AsksNeeds {
  readonly directory: Directory;
  readonly ledger: AskLedger;
  readonly post: Post;
  readonly human: HumanDoor;
  /** The records of what is attached; refuses what is unknown. */
  attach(ids?: readonly string[]): Attachments;
  /** A peer's address by its exact id, however it fares. */
  address(peer_id: string): Address | undefined;
  readonly ask_ttl_ms: number;
}

/** How an ask came in. */
export interface Manner {
  /** The request came through a proven human door (contract 2). */
  readonly proven_human: boolean;
  readonly traceparent?: string | undefined;
  /** The ask to many that this one is a part of. */
  readonly parent_id?: string | undefined;
  /** How its recipient was found, where it named none. */
  readonly routing?: Routing;
}

export class Asks {
  readonly #ground: Ground;
  readonly #needs: AsksNeeds;
  readonly #endings: Endings;

  constructor(ground: Ground, needs: AsksNeeds) {
    this.#ground = ground;
    this.#needs = needs;
    this.#endings = new Endings(ground, needs);
  }

  /** Opens an ask. Everything is checked before anything is registered or queued. */
  open(body: OpenAsk, manner: Manner) {
    const { db, events } = this.#ground;
    const { directory, post, human } = this.#needs;
    return db.transact(() => {
      const { circle, bypass_circle, reply_to = null } = body;
      const from = directory.sender(body.from_peer, { circle });
      const to = directory.target(body.to_peer, { circle, bypass_circle, caller: from });
      const before = reply_to === null ? undefined : this.mustGet(reply_to);
      const attachments = this.#needs.attach(body.attachments);
      if (body.dry_run) return { ticket: undefined, to, inbox: undefined };
      if (before && before.state === "open" && before.to_peer_id === from.peer_id) {
        this.#endings.settle(before, "reply_to", { responder: from.name });
      }
      const ticket = post.send({
        kind: "ask",
        from,
        to,
        voice: directory.voiceOf(from, manner.proven_human),
        text: body.text,
        attachments,
        circle: from.circle ?? to.circle,
        reply_to,
        question: body.question ?? null,
        traceparent: manner.traceparent,
        opening: {
          reply_delivery: body.reply_delivery,
          origin: body.origin ?? null,
          parent_id: manner.parent_id ?? null,
          routing: manner.routing ?? null,
        },
      });
      events.append("ask", {
        correlation_id: ticket.message.correlation_id ?? "",
        from_peer_id: from.peer_id,
        from: from.name,
        to_peer_id: to.peer_id,
        to: to.name,
        reply_delivery: body.reply_delivery,
      });
      if (body.question) sayQuestion(events, ticket.message, body.question);
      return { ticket, to, inbox: to.role === "human" ? human.take(ticket.message) : undefined };
    });
  }

  /** Acknowledges an ask, or answers it with a message (contract 3). */
  ack(
    { correlation_id, message = "", attachments: ids = [], from_peer }: AckAsk,
    manner: Manner,
  ): CloseReason {
    const { db } = this.#ground;
    return db.transact(() => {
      const ask = this.mustGet(correlation_id);
      const responder = this.#responder(ask, from_peer);
      if (ask.state === "closed") {
        if (message === "" && ids.length === 0) return ask.close_reason ?? "ack";
        throw closed(ask);
      }
      const attachments = this.#needs.attach(ids);
      const by = { responder, ...manner, attachments };
      if (message === "") {
        return this.#endings.settle(ask, ids.length === 0 ? "ack" : "ack_with_msg", by);
      }
      if (ask.question?.kind === "choice") {
        const answer = choose(ask.question, message);
        return this.#endings.settle(ask, "answered", { ...by, reply: answer.text, answer });
      }
      return this.#endings.settle(ask, "ack_with_msg", { ...by, reply: message });
    });
  }

  /** Closes an unhandled ask; the reason goes to the asker. */
  decline(
    { correlation_id, reason, from_peer }: DeclineAsk,
    manner: Manner,
  ): CloseReason {
    const { db } = this.#ground;
    return db.transact(() => {
      const ask = this.mustGet(correlation_id);
      const responder = this.#responder(ask, from_peer);
      if (ask.state === "closed") throw closed(ask);
      return this.#endings.settle(ask, "declined", { responder, ...manner, reply: reason });
    });
  }

  /** Takes an ask back; the asker only. */
  cancel(
    correlation_id: string,
    { asker, reason }: { asker: string; reason: string | undefined },
    manner: Manner,
  ): CloseReason {
    const { db } = this.#ground;
    return db.transact(() => {
      const ask = this.mustGet(correlation_id);
      this.mustBeAsker(ask, asker);
      if (ask.state === "closed") throw closed(ask);
      return this.#endings.settle(ask, "cancelled", {
        responder: ask.from_peer_name,
        ...manner,
        reply: reason ?? null,
      });
    });
  }

  /** The bytes of an ask could not be handed over at all. */
  sendFailed(correlation_id: string, reason: string): void {
    const { db } = this.#ground;
    db.transact(() => {
      const ask = this.mustGet(correlation_id);
      if (ask.state === "open") {
        this.#endings.settle(ask, "send_failed", { responder: null, reply: reason });
      }
    });
  }

  /** Nobody answered in time: what is open yet is closed, and its asker told. */
  evict(correlation_id: string): void {
    const { db } = this.#ground;
    db.transact(() => {
      const ask = this.get(correlation_id);
      if (ask?.state === "open") this.#endings.settle(ask, "evicted", { responder: null });
    });
  }

  /** Closes all that a peer was asked, as it cannot answer any more; how many they were. */
  closeAllTo(peer_id: string, why: "peer_retired" | "peer_not_addressable"): number {
    const { db } = this.#ground;
    return db.transact(() => {
      const asks = this.#needs.ledger.openTo(peer_id);
      for (const ask of asks) this.#endings.settle(ask, why, { responder: null });
      return asks.length;
    });
  }

  /**
   * The resolution once there is one, or `pending` when the time is up first. The first wait turns
   * push into pull; a wait that times out records nothing (specification 3).
   */
  async wait(
    { correlation_id, asker, ms_max, signal }: {
      correlation_id: string;
      asker: string;
      ms_max: number;
      signal: AbortSignal;
    },
  ): Promise<Resolution | typeof PENDING> {
    const { db } = this.#ground;
    const ask = db.transactAtLeisure(() => {
      const found = this.mustGet(correlation_id);
      this.mustBeAsker(found, asker);
      if (found.state === "open" && found.reply_delivery === "push") {
        askMachine.step(found.state, "pulled");
        this.#needs.ledger.pull(correlation_id);
      }
      return found;
    });
    if (ask.state === "closed") return toResolution(ask);
    const found = await this.#endings.next(correlation_id, ms_max, signal);
    return found ? toResolution(found) : PENDING;
  }

  /** Answers everyone who waits with `pending`: the daemon goes, the asks stay. */
  dismiss(): void {
    this.#endings.dismiss();
  }

  /** How asks end: shared by all desks of this room. */
  get endings(): Endings {
    return this.#endings;
  }

  get(correlation_id: string): Ask | undefined {
    return this.#needs.ledger.ask(correlation_id);
  }

  mustGet(correlation_id: string): Ask {
    const ask = this.get(correlation_id);
    if (!ask) throw new Problem("unknown_ask", { correlation_id });
    return ask;
  }

  page(page: Page): { asks: Ask[]; next: string | null } {
    const found = this.#needs.ledger.page(page);
    const last = found.length === page.limit ? found.at(-1) : undefined;
    return { asks: found, next: last ? String(last.seq) : null };
  }

  /** Open asks to or from a peer; without one, all those of a name that is not registered. */
  pending(
    who: { peer_id: string | null; name: string },
    direction: "inbound" | "outbound" | "both",
  ): Ask[] {
    const { ledger } = this.#needs;
    const inbound = direction !== "outbound" && who.peer_id ? ledger.openTo(who.peer_id) : [];
    const outbound = direction !== "inbound" ? ledger.openFrom(who) : [];
    return [...inbound, ...outbound].sort((a, b) => a.created_at - b.created_at);
  }

  /** Closed threads of a peer, whether it asked or was asked, oldest first. */
  history(peer_id: string, since: number): Thread[] {
    return this.#needs.ledger.threads({ peer_id, since, limit: THREADS_MAX });
  }

  /** Closes what nobody answered in time, and tells its asker; asks to the human do not expire. */
  beat(now: number): void {
    const { db } = this.#ground;
    const { ledger, ask_ttl_ms, directory } = this.#needs;
    const human_id = directory.human()?.peer_id ?? null;
    const stale = ledger.stale(now - ask_ttl_ms, human_id, EVICT_ROWS_MAX);
    if (stale.length === 0) return;
    db.transact(() =>
      stale.forEach((ask) => this.#endings.settle(ask, "evicted", { responder: null }))
    );
  }

  #responder(ask: Ask, from_peer: string | undefined): string {
    if (from_peer === undefined) return ask.to_peer_name;
    const sender = this.#needs.directory.sender(from_peer);
    if (sender.peer_id === ask.to_peer_id) return sender.name;
    throw new Problem("not_the_recipient", { correlation_id: ask.correlation_id });
  }

  /** An id is the asker's own for ever, even when its peer is gone. */
  mustBeAsker(ask: Ask, asker: string): void {
    if (asker === ask.from_peer_id) return;
    const sender = this.#needs.directory.sender(asker);
    const same = ask.from_peer_id === null
      ? sender.name === ask.from_peer_name || asker === ask.from_peer_name
      : sender.peer_id === ask.from_peer_id;
    if (!same) throw new Problem("not_the_asker", { correlation_id: ask.correlation_id });
  }
}
