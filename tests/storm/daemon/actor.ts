/** A client in a storm: it connects, reads its messages, and remembers each delivery. */

import assert from "node:assert/strict";
import type { Outbound } from "../../../daemon/features/messages/websocket/frames.ts";
import type { FakeSocket, World } from "../../support/world.ts";
import type { Chance } from "../../support/seeded_random.ts";

/** Messages that a peer has read, over all of its connections and leases. */
export interface ReceivedLog {
  /** The text of each delivery, in the order of its first reading. */
  readonly texts: Map<string, string>;
  /** Read without receipts: the daemon must never send these again. */
  readonly plain: Set<string>;
  /** Leased in a response that was lost: these come late and out of order. */
  readonly lateIds: Set<string>;
  /** The peer has sent a receipt for these: the daemon must not send them again. */
  readonly receipted: Set<string>;
}

interface ActorConnection {
  readonly socket: FakeSocket;
  readonly receipts: boolean;
  readonly peer_id: string;
  /** The number of frames read so far; the others are in transit. */
  read: number;
  /** Number of frames that left the daemon before it lost its power. */
  left?: number;
  /** For each delivery with a receipt, the number of frames sent on this connection before it. */
  readonly frames_before_receipt: Map<string, number>;
}

export class Actor {
  readonly name: string;
  /** The latest identity of this client. */
  peer_id: string | undefined;
  certificate: string | undefined;
  #connection: ActorConnection | undefined;
  readonly #received: Map<string, ReceivedLog>;

  constructor(name: string, received: Map<string, ReceivedLog>) {
    this.name = name;
    this.#received = received;
  }

  get isConnected(): boolean {
    return this.#connection !== undefined && this.#connection.socket.closed === undefined;
  }

  get socket(): FakeSocket | undefined {
    return this.isConnected ? this.#connection?.socket : undefined;
  }

  /** The peer, and what was sent on this connection; undefined while disconnected. */
  get connection(): { peer_id: string; receipts: boolean; sent: ReadonlySet<string> } | undefined {
    const connection = this.#connection;
    if (!connection || !this.isConnected) return undefined;
    const { peer_id, receipts, socket } = connection;
    const sent = socket.frames.flatMap((frame) => isMessage(frame) ? [frame.delivery_id] : []);
    return { peer_id, receipts, sent: new Set(sent) };
  }

  /** Opens a socket; unread frames of the previous one are lost. */
  async connect(w: World, more: Record<string, unknown>, receipts: boolean): Promise<void> {
    const socket = w.socket();
    const capabilities = receipts ? ["delivery_receipts"] : [];
    const connectedFrame = await socket.connect({ display_name: this.name, capabilities, ...more });
    if (connectedFrame?.type !== "connected") return;
    const { peer_id } = connectedFrame;
    this.peer_id = peer_id;
    this.#connection = { socket, receipts, peer_id, read: 0, frames_before_receipt: new Map() };
  }

  async drop(): Promise<void> {
    await this.#connection?.socket.drop();
    this.#connection = undefined;
  }

  /** The daemon is gone, and with it every frame in transit. */
  forgetConnection(): void {
    this.#connection = undefined;
  }

  /** The daemon has lost its power: what it sends from now on is lost. */
  stopListening(): void {
    const connection = this.#connection;
    if (connection) connection.left ??= connection.socket.frames.length;
  }

  /** Reads all or some of the frames, and answers the last ping. */
  async read(chance: Chance): Promise<void> {
    this.readReceived(chance);
    const { socket } = this.#connection ?? {};
    const [ping] = socket?.of("ping").slice(-1) ?? [];
    if (ping) await socket?.send({ type: "pong", ping_id: ping.ping_id });
  }

  /** Reads all or some of the frames that the daemon has sent. */
  readReceived(chance: Chance): void {
    const connection = this.#connection;
    if (!connection) return;
    const { left = connection.socket.frames.length } = connection;
    const until = chance.oneIn(3)
      ? connection.read + chance.below(left - connection.read + 1)
      : left;
    const received = this.receivedLog(connection.peer_id);
    for (; connection.read < until; connection.read++) {
      const frame = connection.socket.frames[connection.read];
      if (!frame || !isMessage(frame)) continue;
      const { delivery_id, from_peer, text } = frame;
      const frames_before_receipt = connection.frames_before_receipt.get(delivery_id);
      const fresh = frames_before_receipt === undefined || connection.read < frames_before_receipt;
      assert.ok(fresh, `${delivery_id} was sent after its receipt`);
      const receipted_before = frames_before_receipt === undefined &&
        received.receipted.has(delivery_id);
      assert.ok(!receipted_before, `${delivery_id} came again after its receipt`);
      record(received, delivery_id, `${from_peer} ${text ?? ""}`, connection.receipts);
    }
  }

  /** Records what a lease returned, unless its response was lost. */
  recordLeased(
    peer_id: string,
    deliveries: readonly { delivery_id: string; from_peer_name: string; text: string }[],
    lost: boolean,
  ): void {
    const received = this.receivedLog(peer_id);
    for (const { delivery_id, from_peer_name, text } of deliveries) {
      assert.ok(
        !received.receipted.has(delivery_id),
        `${delivery_id} was leased after its receipt`,
      );
      if (lost) received.lateIds.add(delivery_id);
      else record(received, delivery_id, `${from_peer_name} ${text}`, true);
    }
  }

  /** Sends a receipt for a delivery that it has read, if there is one. */
  async receipt(chance: Chance, status: string): Promise<void> {
    const read = this.lastRead();
    if (read.length === 0) return;
    await this.sendReceipt(chance.pick(chance.oneIn(4) ? read : read.slice(-5)), status);
  }

  /** The last messages that it has read on this connection; none of one without receipts. */
  lastRead(count = Infinity): string[] {
    const connection = this.#connection;
    if (!connection?.receipts || !this.isConnected) return [];
    return connection.socket.frames.slice(0, connection.read)
      .flatMap((frame) => isMessage(frame) ? [frame.delivery_id] : []).slice(-count);
  }

  async sendReceipt(delivery_id: string, status: string): Promise<void> {
    const connection = this.#connection;
    if (!connection || !this.isConnected) return;
    if (status === "accepted" || status === "seen") {
      this.recordReceipt(connection.peer_id, delivery_id);
    }
    await connection.socket.send({ type: "delivery_ack", delivery_id, status });
  }

  /** Records a receipt for a delivery of this peer; frames in transit may still arrive. */
  recordReceipt(peer_id: string, delivery_id: string): void {
    this.receivedLog(peer_id).receipted.add(delivery_id);
    const connection = this.#connection;
    if (connection?.peer_id !== peer_id) return;
    connection.frames_before_receipt.getOrInsert(delivery_id, connection.socket.frames.length);
  }

  receivedLog(peer_id: string): ReceivedLog {
    return this.#received.getOrInsertComputed(peer_id, () => ({
      texts: new Map(),
      plain: new Set(),
      lateIds: new Set(),
      receipted: new Set(),
    }));
  }
}

type Message = Extract<Outbound, { type: "ask" | "notify" | "broadcast" | "ack" }>;

function isMessage(frame: Outbound): frame is Message {
  return ["ask", "notify", "broadcast", "ack"].includes(frame.type);
}

function record(received: ReceivedLog, delivery_id: string, text: string, receipts: boolean): void {
  const known = received.texts.get(delivery_id);
  assert.ok(known === undefined || known === text, `${delivery_id} changed its text`);
  assert.ok(!received.plain.has(delivery_id), `${delivery_id} was sent again where nothing may be`);
  received.texts.set(delivery_id, text);
  if (!receipts) received.plain.add(delivery_id);
}
