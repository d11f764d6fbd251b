/** One who takes part in a storm: it connects, reads what comes, and remembers each delivery. */

import assert from "node:assert/strict";
import type { Outbound } from "../../daemon/features/messages/websocket/frames.ts";
import type { FakeSocket, World } from "../support/world.ts";
import type { Chance } from "../support/seeded_random.ts";

/** What was read by one peer, over all of its connections and drains. */
export interface Heard {
  /** The text of each delivery, in the order in which they were applied first. */
  readonly texts: Map<string, string>;
  /** Read where nothing may come twice: it must never come again. */
  readonly plain: Set<string>;
  /** Lost on the way of a drain: they come late, out of their order. */
  readonly late: Set<string>;
  /** The peer's own word was given on these: none may be sent from then on. */
  readonly settled: Set<string>;
}

interface Line {
  readonly socket: FakeSocket;
  readonly receipts: boolean;
  readonly peer_id: string;
  /** Frames that were read so far; the rest is still on its way. */
  read: number;
  /** For each delivery settled on this line, how many frames had gone out by then. */
  readonly settled_after: Map<string, number>;
}

export class Actor {
  readonly name: string;
  /** The peer that it was last. */
  peer_id: string | undefined;
  certificate: string | undefined;
  #line: Line | undefined;
  readonly #heard: Map<string, Heard>;

  constructor(name: string, heard: Map<string, Heard>) {
    this.name = name;
    this.#heard = heard;
  }

  get connected(): boolean {
    return this.#line !== undefined && this.#line.socket.closed === undefined;
  }

  get socket(): FakeSocket | undefined {
    return this.connected ? this.#line?.socket : undefined;
  }

  /** Who is connected, and what was sent on this line; undefined when nobody is. */
  get line(): { peer_id: string; receipts: boolean; sent: ReadonlySet<string> } | undefined {
    const line = this.#line;
    if (!line || !this.connected) return undefined;
    const { peer_id, receipts, socket } = line;
    const sent = socket.frames.flatMap((frame) => isMessage(frame) ? [frame.delivery_id] : []);
    return { peer_id, receipts, sent: new Set(sent) };
  }

  /** Opens a socket; what is unread of the one before is lost. */
  async connect(w: World, more: Record<string, unknown>, receipts: boolean): Promise<void> {
    const socket = w.socket();
    const capabilities = receipts ? ["delivery_receipts"] : [];
    const greeted = await socket.connect({ display_name: this.name, capabilities, ...more });
    if (greeted?.type !== "connected") return;
    const { peer_id } = greeted;
    this.peer_id = peer_id;
    this.#line = { socket, receipts, peer_id, read: 0, settled_after: new Map() };
  }

  async drop(): Promise<void> {
    await this.#line?.socket.drop();
    this.#line = undefined;
  }

  /** The daemon is gone, and all that was on its way. */
  cut(): void {
    this.#line = undefined;
  }

  /** Reads frames, all that came or only some of them, and gives a sign of life. */
  async read(chance: Chance): Promise<void> {
    const line = this.#line;
    if (!line) return;
    const until = chance.oneIn(3)
      ? line.read + chance.below(line.socket.frames.length - line.read + 1)
      : line.socket.frames.length;
    const heard = this.heard(line.peer_id);
    for (; line.read < until; line.read++) {
      const frame = line.socket.frames[line.read];
      if (!frame || !isMessage(frame)) continue;
      const { delivery_id, from_peer, text } = frame;
      const settled_after = line.settled_after.get(delivery_id);
      const fresh = settled_after === undefined || line.read < settled_after;
      assert.ok(fresh, `${delivery_id} was sent after its receipt`);
      const settled_before = settled_after === undefined && heard.settled.has(delivery_id);
      assert.ok(!settled_before, `${delivery_id} came again after its receipt`);
      take(heard, delivery_id, `${from_peer} ${text ?? ""}`, line.receipts);
    }
    const [ping] = line.socket.of("ping").slice(-1);
    if (ping) await line.socket.say({ type: "pong", ping_id: ping.ping_id });
  }

  /** Takes what a drain gave; a lost one is taken by nobody. */
  drained(
    peer_id: string,
    deliveries: readonly { delivery_id: string; from_peer_name: string; text: string }[],
    lost: boolean,
  ): void {
    const heard = this.heard(peer_id);
    for (const { delivery_id, from_peer_name, text } of deliveries) {
      assert.ok(!heard.settled.has(delivery_id), `${delivery_id} was drained after its receipt`);
      if (lost) heard.late.add(delivery_id);
      else take(heard, delivery_id, `${from_peer_name} ${text}`, true);
    }
  }

  /** Gives its word on something that it read; `false` when there is nothing to give it on. */
  async receipt(chance: Chance, status: string): Promise<void> {
    const line = this.#line;
    if (!line?.receipts || !this.connected) return;
    const read = line.socket.frames.slice(0, line.read)
      .flatMap((frame) => isMessage(frame) ? [frame.delivery_id] : []);
    if (read.length === 0) return;
    const delivery_id = chance.pick(chance.oneIn(4) ? read : read.slice(-5));
    if (status === "accepted" || status === "seen") {
      this.settled(line.peer_id, delivery_id);
    }
    await line.socket.say({ type: "delivery_ack", delivery_id, status });
  }

  /** A word was given on a delivery of this peer's; what is on its way already may still come. */
  settled(peer_id: string, delivery_id: string): void {
    this.heard(peer_id).settled.add(delivery_id);
    const line = this.#line;
    if (line?.peer_id !== peer_id) return;
    line.settled_after.getOrInsert(delivery_id, line.socket.frames.length);
  }

  heard(peer_id: string): Heard {
    return this.#heard.getOrInsertComputed(peer_id, () => ({
      texts: new Map(),
      plain: new Set(),
      late: new Set(),
      settled: new Set(),
    }));
  }
}

type Message = Extract<Outbound, { type: "ask" | "notify" | "broadcast" | "ack" }>;

function isMessage(frame: Outbound): frame is Message {
  return ["ask", "notify", "broadcast", "ack"].includes(frame.type);
}

function take(heard: Heard, delivery_id: string, text: string, receipts: boolean): void {
  const known = heard.texts.get(delivery_id);
  assert.ok(known === undefined || known === text, `${delivery_id} changed its text`);
  assert.ok(!heard.plain.has(delivery_id), `${delivery_id} was sent again where nothing may be`);
  heard.texts.set(delivery_id, text);
  if (!receipts) heard.plain.add(delivery_id);
}
