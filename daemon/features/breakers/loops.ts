/**
 * Finds loops and reports each once: a turn that repeats its calls, and two peers that answer each
 * other without anything new. Interrupts them if the configuration says so.
 */

import { setLatest } from "kit/core/bounded_map.ts";
import { timeOf } from "kit/core/local_time.ts";
import { canonicalJson, cleanLine } from "kit/core/text.ts";
import type { Context } from "../../data/context.ts";
import type { LoopAction } from "protocol/budgets/contract.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { Peer } from "protocol/peers/record.ts";
import { hashOf } from "../agents/sessions/growing_file.ts";
import type { NewRecords, SessionEntry } from "../agents/sessions/session_files.ts";
import type { Interrupts } from "../lifecycle/interrupts.ts";
import type { Notifications } from "../notifications/notifications.ts";
import type { PeerState } from "../peers/changes.ts";
import type { Directory } from "../peers/directory.ts";
import * as peers from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { ReadSession, SessionReading } from "../transcripts/session_reading.ts";
import { type Call, CALLS_MAX, callsIn, repeatedCalls, toCall } from "./calls.ts";
import { type EmptyExchange, type Exchanged, Exchanges } from "./exchanges.ts";

/** Last entries of a session that are compared: the calls, their results, and a prompt. */
const ENTRIES_MAX = 2 * CALLS_MAX + 1;
/** Time for which peers of an exchange are shown as looping. */
const SHOWN_MS = 10 * 60_000;
/** Maximum sent messages that are compared in one tick. */
const SENT_MAX = 200;
/** Maximum peers whose last calls, and whose shown loop, are in memory. */
const PEERS_MAX = 1_000;
const TOOL_CHARS_MAX = 60;

type Looping = NonNullable<Peer["looping"]>;

interface LoopsDeps {
  readonly action: LoopAction;
  readonly directory: Directory;
  readonly interrupts: Pick<Interrupts, "interruptWorking">;
  readonly notifications: Notifications;
  readonly sessionReading: Pick<SessionReading, "read">;
  /** Called for each loop that is found, with its kind. */
  found(kind: Looping["kind"]): void;
}

/** A loop that is shown on a peer's card, up to a time by the monotonic clock. */
interface ShownLoop extends Looping {
  readonly until: number;
}

export class Loops {
  readonly #ctx: Context;
  readonly #deps: LoopsDeps;
  readonly #exchanges = new Exchanges();
  readonly #sent: Exchanged[] = [];
  readonly #shown = new Map<string, ShownLoop>();
  /** The calls of running turns that hooks reported, and the time of each peer's last one. */
  readonly #calls = new Map<string, Call[]>();
  readonly #lastCall = new Map<string, number>();
  /** The last entries of the sessions of peers at work, with hashes as their texts. */
  readonly #turns = new Map<string, SessionEntry[]>();
  #looking: Promise<void> = Promise.resolve();

  constructor(ctx: Context, deps: LoopsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  get #isOff(): boolean {
    return this.#deps.action === "off";
  }

  /** The loop in which a peer is; undefined for none. */
  loopOf(peer_id: string): Looping | undefined {
    const shown = this.#shown.get(peer_id);
    if (!shown) return undefined;
    const { until: _, ...loop } = shown;
    return loop;
  }

  /** Called for each new message. It is only noted here, on the way of each message. */
  messageSent(message: StoredMessage): void {
    const { from_peer_id: from, to_peer_id: to, kind, text, created_at: at } = message;
    if (this.#isOff || from === null || kind === "broadcast") return;
    if (this.#sent.length >= SENT_MAX) return;
    this.#ctx.db.afterCommit(() => this.#sent.push({ from, to, text, at }));
  }

  /** A hook reported a tool call of a peer with its result. */
  callRan(peer_id: string, { tool, input, result }: RanCall): void {
    if (this.#isOff) return;
    const at = this.#ctx.clock.now(), text = canonicalJson(input) ?? "";
    if (isOfMesh({ tool, text })) return;
    setLatest(this.#lastCall, peer_id, at, PEERS_MAX);
    const call = toCall(tool, text, { result: canonicalJson(result ?? null), at });
    const calls = [...this.#calls.get(peer_id) ?? [], call].slice(-CALLS_MAX);
    setLatest(this.#calls, peer_id, calls, PEERS_MAX);
    this.#ctx.db.afterCommit(() => this.#reportCalls(peer_id, calls));
  }

  /** Called when the status or the turn of a peer has changed. */
  peerChanged({ peer_id, status, turn_state }: PeerState): void {
    if (turn_state === "working" && status !== "offline") {
      if (!this.#turns.has(peer_id)) this.#turns.set(peer_id, []);
      return;
    }
    if (turn_state === "awaiting_input" && status !== "offline") return;
    this.#turns.delete(peer_id);
    this.#calls.delete(peer_id);
    if (this.#shown.get(peer_id)?.kind === "calls") this.#shown.delete(peer_id);
  }

  /** Called once a second. */
  tick(): void {
    if (this.#isOff) return;
    const now = this.#ctx.clock.monotonic();
    for (const [peer_id, { until }] of this.#shown) {
      if (until <= now) this.#shown.delete(peer_id);
    }
    for (const message of this.#sent.splice(0)) this.#compare(message);
  }

  /** Compares a message with those before it between the same peers of this machine. */
  #compare(message: Exchanged): void {
    const { directory } = this.#deps;
    const isHere = [message.from, message.to].every((id) => {
      const address = directory.address(id);
      return address?.daemon_id === null && address.role !== "human";
    });
    const found = isHere ? this.#exchanges.add(message) : undefined;
    if (!found || found.isReported && this.#deps.action !== "interrupt") return;
    this.#afterwards(() => this.#weigh(found));
  }

  /**
   * Reports an exchange once, unless one of its peers has done something else meanwhile. Interrupts
   * after each further message: an interrupt before a message was read does not end the exchange.
   */
  async #weigh({ peers: pair, times, since, isReported }: EmptyExchange): Promise<void> {
    const both = pair.flatMap((id) => peers.get(this.#ctx.db, id) ?? []);
    for (const peer of both) {
      if (await this.#hasWorked(peer, since)) {
        return this.#exchanges.restart(pair, this.#ctx.clock.now());
      }
    }
    const [one, other] = both;
    if (!one || !other) return;
    if (isReported) return this.#interrupt(both);
    const text = `${name(one)} and ${name(other)} answer each other without anything new: the ` +
      `last ${times} messages between them have no new words, and no tool call of either is ` +
      `recorded since ${timeOf(new Date(since))}. ${this.#wayOut(other)}`;
    this.#report(one, { kind: "exchange", with: other.name, times, since }, { text, other });
    this.#show(other, { kind: "exchange", with: one.name, times, since });
    this.#interrupt(both);
  }

  /** True if a tool call of a peer is known since a time, other than those of mesh itself. */
  async #hasWorked(peer: StoredPeer, since: number): Promise<boolean> {
    await this.#deps.sessionReading.read([peer]);
    return (this.#lastCall.get(peer.peer_id) ?? -Infinity) >= since;
  }

  /** Called with each part of a session that was read. */
  recorded({ peer: { peer_id } }: ReadSession, { entries, isReplaced }: NewRecords): void {
    if (this.#isOff) return;
    const turn = this.#turns.get(peer_id);
    if (turn && isReplaced) turn.length = 0;
    for (const entry of entries) {
      const { kind, at, position, text } = entry;
      if (kind === "text" || isOfMesh(entry)) continue;
      const last = this.#lastCall.get(peer_id) ?? -Infinity;
      if (kind === "tool_call" && at !== null && at > last) {
        setLatest(this.#lastCall, peer_id, at, PEERS_MAX);
      }
      // A file may be read again from its beginning.
      if (position <= (turn?.at(-1)?.position ?? -1)) continue;
      turn?.push({ ...entry, text: String(hashOf(text)) });
    }
    if (!turn) return;
    turn.splice(0, turn.length - ENTRIES_MAX);
    this.#ctx.db.afterCommit(() => this.#reportCalls(peer_id, callsIn(turn)));
  }

  #reportCalls(peer_id: string, calls: readonly Call[]): void {
    const found = repeatedCalls(calls);
    if (!found || this.#shown.get(peer_id)?.kind === "calls") return;
    const peer = peers.get(this.#ctx.db, peer_id);
    if (!peer) return;
    const { times, tools, since } = found;
    const shownTools = tools.map((tool) => cleanLine(tool).slice(0, TOOL_CHARS_MAX)).join(", ");
    const at = since ?? this.#ctx.clock.now();
    const text =
      `${name(peer)} repeats itself in one turn: ${shownTools} ran ${times} times with ` +
      `the same input and the same result since ${timeOf(new Date(at))}. ${this.#wayOut(peer)}`;
    this.#report(peer, { kind: "calls", with: null, times, since: at }, { text });
    this.#interrupt([peer]);
  }

  #report(
    peer: StoredPeer,
    loop: Looping,
    { text, other }: { readonly text: string; readonly other?: StoredPeer },
  ): void {
    const { db, events } = this.#ctx;
    const { directory, notifications } = this.#deps;
    const { peer_id } = peer;
    const { kind, times } = loop;
    this.#show(peer, loop);
    this.#deps.found(kind);
    db.transact(() => {
      const other_peer_id = other?.peer_id ?? null;
      events.append("looping", { peer_id, name: peer.name, kind, other_peer_id, times });
      const human = directory.inboxHuman();
      if (human) notifications.tryNotifyFromDaemon(human.peer_id, text);
    });
  }

  #show({ peer_id }: StoredPeer, loop: Looping): void {
    const until = this.#ctx.clock.monotonic() + SHOWN_MS;
    setLatest(this.#shown, peer_id, { ...loop, until }, PEERS_MAX);
  }

  #wayOut({ name }: StoredPeer): string {
    return this.#deps.action === "interrupt"
      ? "Agents in a turn are interrupted, as breakers.loops says."
      : `Look: mesh transcript ${name}. Stop it: mesh interrupt ${name}`;
  }

  #interrupt(found: readonly StoredPeer[]): void {
    if (this.#deps.action !== "interrupt") return;
    this.#deps.interrupts.interruptWorking(found.map(({ peer_id }) => peer_id), BREAKER);
  }

  /** Runs work in the background, after the work before it. */
  #afterwards(work: () => Promise<void>): void {
    const before = this.#looking;
    this.#looking = this.#ctx.background.run(
      "A search for loops failed",
      before.then(work),
    );
  }
}

/** A tool call as a hook reports it. */
interface RanCall {
  readonly tool: string;
  readonly input: unknown;
  readonly result?: unknown;
}

/** The caller of an interrupt that the configuration wants. */
const BREAKER = {
  isHuman: false,
  isOnOtherMachine: false,
  peer_id: undefined,
  isBreaker: true,
} as const;

/** A call by which an agent only talks to others: it is no work. */
const MESH_COMMAND = /"mesh (?:ack|answer|ask|asks|decline|notify|reply|send|show|wait)\b/;

function isOfMesh({ tool, text }: Pick<SessionEntry, "tool" | "text">): boolean {
  return /\bmesh\b|_mesh_|^mesh_|__mesh__/.test(tool ?? "") || MESH_COMMAND.test(text);
}

function name({ name }: StoredPeer): string {
  return `@${name}`;
}
