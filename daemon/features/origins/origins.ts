/**
 * The chain of each message: what began the work that it belongs to. A chain passes through asks,
 * replies, follow-ups, jobs, schedules and started agents, and is found out here, never taken from
 * the sender's body. Where the cause of a message is not known, its origin is `unknown`.
 */

import { setLatest } from "kit/core/bounded_map.ts";
import { DAY_MS } from "kit/core/duration.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Context } from "../../data/context.ts";
import { TableAnswers } from "../../data/table_view.ts";
import type { Chain, ReportedChain } from "protocol/origins/record.ts";
import { isOutside, originText } from "protocol/derived/origins.ts";
import type { Verb } from "protocol/origins/policy.ts";
import type { Directory } from "../peers/directory.ts";
import type { Policies } from "./policies.ts";
import * as store from "./store.ts";

/** Time for which a chain is kept after its job, schedule or peer was used last. */
const KEPT_MS = 35 * DAY_MS;
/** Maximum peers whose last messages are in memory; others are looked up in the ledger. */
const PEERS_MAX = 10_000;
/** Messages of each peer in memory. */
const READ_MAX = 16;
/** Maximum peers above a peer that was started by another one. */
const PARENTS_MAX = 16;
/** A share's link speaks under such a name, which the relay gives it. */
const GUEST = "mcp-share-";

/** The proofs of a request, as far as its origin depends on them. */
export interface OriginProofs {
  readonly proven_human?: boolean;
  /** The person who sends in the name of a peer. */
  readonly sent_by?: string | undefined;
  /** True if nothing proves that the caller is the sender. */
  readonly unverified?: boolean | undefined;
  readonly via?: "page" | "relay" | "machine" | undefined;
  /** Where a person acts: `terminal`, `dashboard`, `relay`, or a chat surface. */
  readonly surface?: string | undefined;
  /** Finds the registered peer whose process sends the request. */
  readonly calling_peer?: (() => string | undefined) | undefined;
  readonly caused_by?: string | undefined;
}

/** A message or another act whose chain is to be found. */
export interface CausedAct {
  readonly from: { readonly peer_id: string | null; readonly name: string };
  readonly proofs: OriginProofs;
  /** The id that becomes the root of a new chain. */
  readonly id: string;
  /** The ask that the act answers, or that it follows up on. */
  readonly answers?: string | null | undefined;
  readonly follows?: string | null | undefined;
}

/** A message from another machine. */
export interface ArrivedAct {
  readonly id: string;
  readonly from: string;
  readonly machine: string;
  readonly reported: ReportedChain | undefined;
  /** True for the human of a machine that may administer this one. */
  readonly is_person: boolean;
}

/** Questions to the ledger of messages, which is a higher feature. */
export interface OriginPorts {
  /** The chain of a message or of an ask; undefined for an unknown id. */
  chainOfMessage(id: string): Chain | null | undefined;
  /** The messages with a chain that a peer has read last, among the newest of the ledger. */
  lastRead(peer_id: string, limit: number): readonly string[];
  /** The chain of the oldest open ask that has reached a peer and began outside. */
  outsideOwed(peer_id: string): Chain | undefined;
  /** The recipients of open asks that began outside. */
  askedFromOutside(): readonly string[];
}

interface OriginsDeps {
  readonly directory: Directory;
  readonly policies: Policies;
  readonly ports: OriginPorts;
}

interface ReadMessage {
  readonly id: string;
  /** Its chain; undefined until it is looked up. A chain never changes. */
  chain: Chain | null | undefined;
}

type DecidingMessage = ReadMessage & { readonly chain: Chain };

function hasChain(message: ReadMessage): message is DecidingMessage {
  return message.chain !== null && message.chain !== undefined;
}

/** The messages that a peer has read last, the newest first, or a prompt without one. */
interface LastRead {
  messages: ReadMessage[];
  by_itself: boolean;
  /** False if the ledger may have earlier ones, from before a restart of the daemon. */
  is_whole: boolean;
}

export class Origins {
  readonly #ctx: Context;
  readonly #deps: OriginsDeps;
  readonly #read = new Map<string, LastRead>();
  /**
   * The peers that may owe an answer to an ask from outside. Read at the start: in a transaction
   * that is rolled back, a peer could be missing.
   */
  readonly #asked_from_outside: Set<string>;
  readonly #memberOf: (subject: string) => store.Member | undefined;
  #pruned_at = Number.NEGATIVE_INFINITY;

  constructor(ctx: Context, deps: OriginsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#asked_from_outside = new Set(deps.ports.askedFromOutside());
    const { db } = ctx;
    const members = new TableAnswers(() => db.revisionOf("chain_members"));
    this.#memberOf = members.to((subject) => store.get(db, subject));
  }

  /** A peer has read a message. It is only noted here, on the way of each message. */
  messageRead(peer_id: string, id: string, chain?: Chain | null): void {
    const read = this.#read.get(peer_id);
    if (!read) {
      const first = { messages: [{ id, chain }], by_itself: false, is_whole: false };
      setLatest(this.#read, peer_id, first, PEERS_MAX);
      return;
    }
    read.by_itself = false;
    const { messages } = read;
    if (messages[0]?.id === id) return;
    const at = messages.findIndex((message) => message.id === id);
    const [known = { id, chain }] = at < 0 ? [] : messages.splice(at, 1);
    messages.unshift(known);
    if (messages.length <= READ_MAX) return;
    // Notices and messages of unknown origin must not push out the one that decides.
    const deciding = this.#deciding(messages);
    read.messages = deciding && deciding !== known ? [known, deciding] : [known];
  }

  /** As `messageRead`, for a message that its peer does not get if the transaction rolls back. */
  messageHandedOver(peer_id: string, id: string, chain?: Chain | null): void {
    const read = this.#read.get(peer_id);
    const before = read && { ...read, messages: [...read.messages] };
    this.messageRead(peer_id, id, chain);
    this.#ctx.db.afterRollback(() => {
      if (before) this.#read.set(peer_id, before);
      else this.#read.delete(peer_id);
    });
  }

  /** An ask from outside goes to a peer. */
  askedFromOutside(peer_id: string): void {
    this.#asked_from_outside.add(peer_id);
  }

  /** The id of the message that a peer works on; undefined after a prompt without one. */
  lastMessage(peer_id: string): string | undefined {
    const read = this.#read.get(peer_id);
    return read && !read.by_itself ? read.messages[0]?.id : undefined;
  }

  /**
   * A peer got a prompt with a message in it. An agent writes its own prompts, so a message that
   * it had read before counts as none, unless it is the latest one.
   */
  promptWith(
    peer_id: string,
    { delivery_id, chain }: { readonly delivery_id: string; readonly chain: Chain | null },
    is_new: boolean,
  ): void {
    if (is_new) this.messageRead(peer_id, delivery_id, chain);
    else if (this.#readBy(peer_id).messages[0]?.id !== delivery_id) this.promptRead(peer_id);
  }

  /** A peer got a prompt without a message. */
  promptRead(peer_id: string): void {
    this.#readBy(peer_id).by_itself = true;
  }

  /** The chain of an act on this machine. */
  chainOf(act: CausedAct): Chain {
    const { from, proofs, id, answers, follows } = act;
    const { caused_by, proven_human, sent_by, surface, via } = proofs;
    if (answers) return this.#deps.ports.chainOfMessage(answers) ?? begin("unknown", id, from.name);
    if (caused_by !== undefined) {
      return this.memberChain(caused_by) ?? begin("unknown", caused_by, from.name);
    }
    if (proven_human || sent_by !== undefined) {
      return { ...begin("person", id, sent_by ?? from.name), surface: surface ?? null };
    }
    const earlier = follows ? this.#deps.ports.chainOfMessage(follows) : undefined;
    if (via === "relay") {
      if (isOutside(earlier)) return earlier;
      return begin(from.name.startsWith(GUEST) ? "guest" : "app", id, from.name);
    }
    if (via === "machine") return { ...begin("machine", id, from.name), machine: "unknown" };
    const own = this.#workOfSender(act);
    if (isOutside(own)) return own;
    return isOutside(earlier) ? earlier : own ?? begin("unknown", id, from.name);
  }

  /** The chain of a message from another machine, whose report is that machine's word. */
  chainOfArrived({ id, from, machine, reported, is_person }: ArrivedAct): Chain {
    if (is_person) return { ...begin("person", id, from), machine };
    return {
      ...begin("machine", id, reported?.name ?? from),
      machine,
      reported: reported?.origin ?? null,
    };
  }

  /** The chain that a peer works for; undefined if it is not known. `id` begins a new one. */
  workOf(peer_id: string, id: string): Chain | undefined {
    return this.#workOf(peer_id, id, 0);
  }

  /** The origin of a peer's work, if it is outside of this machine and its user. */
  outsideOf(peer_id: string): string | undefined {
    const work = this.workOf(peer_id, "");
    return isOutside(work) ? originText(work) : undefined;
  }

  /** The chain of a job, schedule, subscription, spawn or started peer. */
  memberChain(subject: string): Chain | undefined {
    const member = this.#memberOf(subject);
    if (!member) return undefined;
    const now = this.#ctx.clock.now();
    if (now - member.used_at > DAY_MS) {
      this.#ctx.db.transact((tx) => store.put(tx, { ...member, used_at: now }));
    }
    return member.chain;
  }

  /** Records the chain of what a peer starts or schedules. */
  include(
    tx: Tx,
    subject: string,
    from: CausedAct["from"],
    proofs: OriginProofs,
    begins: "schedule" | undefined,
  ): void {
    const chain = this.chainOf({ from, proofs, id: subject });
    const isNew = begins === "schedule" && ["person", "unknown"].includes(chain.origin);
    this.#put(tx, subject, isNew ? begin("schedule", subject, chain.name) : chain);
  }

  /**
   * Work that comes of other work, such as a run of a recurring job, belongs to its chain. An agent
   * that is started again, with what it knows, stays in a chain that began outside.
   */
  inherit(tx: Tx, subject: string, of: string): void {
    const chain = this.memberChain(of);
    if (chain) this.#putUnlessOutside(tx, subject, chain);
  }

  /** The start of a copy of a peer, which knows what the peer knows, and stays outside with it. */
  includeCopy(tx: Tx, subject: string, of_peer_id: string): void {
    const work = this.workOf(of_peer_id, subject);
    if (isOutside(work)) this.#putUnlessOutside(tx, subject, work);
  }

  /** Throws `policy_denied` if a rule denies an act to a chain. */
  mustAllow(
    chain: Chain,
    act: {
      readonly verb: Verb;
      readonly to?: { readonly peer_id: string; readonly name: string; readonly role: string };
      readonly from: CausedAct["from"];
    },
  ): void {
    this.#deps.policies.mustAllow(chain, act);
  }

  /** True if no rule denies an act without a recipient to a chain. */
  allows(chain: Chain | null, verb: Verb): boolean {
    return chain === null || this.#deps.policies.allows(chain, verb);
  }

  /** True if any rule may refuse an act. */
  get hasRules(): boolean {
    return this.#deps.policies.isAny;
  }

  /** Removes the chains of what was not used for long. */
  prune(): void {
    const { clock, db } = this.#ctx;
    if (clock.monotonic() - this.#pruned_at < DAY_MS) return;
    this.#pruned_at = clock.monotonic();
    db.transact((tx) => store.prune(tx, clock.now() - KEPT_MS));
  }

  /**
   * The work of the sender, or of the peer whose process sends in another name. A sender that
   * nothing proves may be part of a chain from outside, so such work of the named peer counts.
   */
  #workOfSender({ from, proofs, id }: CausedAct): Chain | undefined {
    const { unverified } = proofs;
    const calling = from.peer_id === null || unverified ? proofs.calling_peer?.() : undefined;
    const caller = calling ?? from.peer_id;
    if (caller === null) return undefined;
    const work = this.workOf(caller, id);
    const isKnown = calling !== undefined || !unverified || isOutside(work);
    return isKnown ? work : undefined;
  }

  #workOf(peer_id: string, id: string, depth: number): Chain | undefined {
    const { directory, ports } = this.#deps;
    const started = this.memberChain(peer_id);
    const read = this.#lastChain(peer_id);
    const isLasting = read?.origin === "person" || isOutside(read);
    if (isLasting) return read;
    const owed = this.#asked_from_outside.has(peer_id) ? ports.outsideOwed(peer_id) : undefined;
    if (owed) return owed;
    // An agent writes its own prompts, so none takes it out of a chain that began outside.
    if (isOutside(started)) return started;
    if (read) return read;
    const address = directory.address(peer_id);
    const isItself = this.#read.get(peer_id)?.by_itself;
    if (!isItself && started) return started;
    const parent = address?.parent_runtime_id && depth < PARENTS_MAX
      ? directory.parentOf(address)
      : null;
    const above = parent === null ? undefined : this.#workOf(parent, id, depth + 1);
    if (above) return above;
    return isItself ? begin("peer", id, address?.name ?? null) : undefined;
  }

  /** The chain of what a peer read last. */
  #lastChain(peer_id: string): Chain | undefined {
    const read = this.#readBy(peer_id);
    if (read.by_itself) return undefined;
    const found = this.#deciding(read.messages)?.chain;
    if (read.is_whole || (found && found.origin !== "unknown")) return found;
    const known = new Set(read.messages.map(({ id }) => id));
    const earlier = this.#deps.ports.lastRead(peer_id, READ_MAX).filter((id) => !known.has(id));
    read.messages.push(...earlier.map((id) => ({ id, chain: undefined })));
    read.is_whole = true;
    return this.#deciding(read.messages)?.chain;
  }

  /**
   * The newest message that has a chain; notices of the daemon have none. A message of unknown
   * origin does not end work that began outside: its sender may be a part of that work.
   */
  #deciding(messages: readonly ReadMessage[]): DecidingMessage | undefined {
    let unknown: DecidingMessage | undefined;
    for (const message of messages) {
      if (message.chain === undefined) {
        message.chain = this.#deps.ports.chainOfMessage(message.id) ?? null;
      }
      if (!hasChain(message)) continue;
      const { chain } = message;
      if (chain.origin !== "unknown") return unknown && !isOutside(chain) ? unknown : message;
      unknown ??= message;
    }
    return unknown;
  }

  /** The messages that a peer has read last, from the ledger after a restart. */
  #readBy(peer_id: string): LastRead {
    const known = this.#read.get(peer_id);
    if (known) return known;
    const messages = this.#deps.ports.lastRead(peer_id, READ_MAX)
      .map((id) => ({ id, chain: undefined }));
    const read: LastRead = { messages, by_itself: false, is_whole: true };
    setLatest(this.#read, peer_id, read, PEERS_MAX);
    return read;
  }

  #putUnlessOutside(tx: Tx, subject: string, chain: Chain): void {
    if (isOutside(chain) || !isOutside(this.memberChain(subject))) {
      this.#put(tx, subject, chain);
    }
  }

  #put(tx: Tx, subject: string, chain: Chain): void {
    store.put(tx, { subject, chain, used_at: this.#ctx.clock.now() });
  }
}

function begin(origin: Chain["origin"], root: string, name: string | null): Chain {
  return { origin, name, root, surface: null, machine: null, reported: null };
}
