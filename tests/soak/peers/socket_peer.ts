/** A peer on `/ws`, which takes its turns at jobs, too. */

import { systemClock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import type { Chance } from "../../support/seeded_random.ts";
import type { SoakDaemon } from "../soak_daemon.ts";
import { OpenAnswers, type SoakPeer } from "./soak_peer.ts";

/** A daemon that was killed does not answer the closing handshake. */
const CLOSE_MS_MAX = 2000;

export class SocketPeer implements SoakPeer {
  readonly name: string;
  readonly takes_jobs = true;
  readonly #daemon: SoakDaemon;
  readonly #receipts: boolean;
  readonly #open: OpenAnswers;
  #socket: WebSocket | undefined;
  #peer_id = "";
  #previous = Promise.resolve();

  constructor(name: string, receipts: boolean, daemon: SoakDaemon, chance: Chance) {
    this.name = name;
    this.#receipts = receipts;
    this.#daemon = daemon;
    this.#open = new OpenAnswers(daemon, chance);
  }

  get peer_id(): string {
    return this.#peer_id;
  }

  /** Runs after what was begun before: a restart of the daemon meets a peer that reconnects. */
  connect(): Promise<void> {
    return this.#inTurn(() => this.#connect());
  }

  disconnect(): Promise<void> {
    return this.#inTurn(() => this.#disconnect());
  }

  #inTurn(act: () => Promise<void>): Promise<void> {
    const done = this.#previous.then(act);
    this.#previous = done.catch(() => undefined); // Its caller gets the error.
    return done;
  }

  async #connect(): Promise<void> {
    await this.#disconnect();
    const socket = new WebSocket(`${this.#daemon.base.replace("http", "ws")}/ws`);
    this.#socket = socket;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.onopen = () => socket.send(JSON.stringify(this.#handshake()));
    socket.onerror = () => undefined; // Its close event follows.
    socket.onclose = ({ code, reason }) => {
      reject(new Error(`${this.name} was refused: ${code} ${reason}`));
    };
    socket.onmessage = ({ data }) => {
      const frame = JSON.parse(data);
      if (frame.type === "connected") {
        this.#peer_id = frame.peer_id;
        resolve();
      } else this.#receive(socket, frame);
    };
    await promise;
  }

  async #disconnect(): Promise<void> {
    const socket = this.#socket;
    this.#socket = undefined;
    if (!socket || socket.readyState === WebSocket.CLOSED) return;
    const closed = new Promise<void>((resolve) => socket.onclose = () => resolve());
    socket.close();
    await timeout(systemClock, CLOSE_MS_MAX, closed);
  }

  #handshake() {
    return {
      type: "connect",
      display_name: this.name,
      backend: "sdk",
      circle: "soak",
      path: "/work",
      capabilities: this.#receipts ? ["delivery_receipts"] : [],
      ...(this.#peer_id && { peer_id: this.#peer_id }),
    };
  }

  #receive(socket: WebSocket, frame: Record<string, string>): void {
    const { type = "", delivery_id, correlation_id, text = "" } = frame;
    if (type === "ping") this.#send(socket, { type: "pong", ping_id: frame["ping_id"] });
    if (delivery_id === undefined) return;
    if (this.#receipts) this.#send(socket, { type: "delivery_ack", delivery_id, status: "seen" });
    if (/\[job work-\w+, attempt-/.test(text)) this.#takeTurn(socket, delivery_id);
    this.#open.receive({ kind: type, correlation_id });
  }

  /** Works on a job: a turn with its message's id, and the text that ends it. */
  #takeTurn(socket: WebSocket, delivery_id: string): void {
    this.#send(socket, { type: "chat_turn", role: "user", text: `[mesh ${delivery_id}] Begin` });
    this.#send(socket, { type: "chat_turn", role: "assistant", text: "All tests pass" });
  }

  #send(socket: WebSocket, frame: Record<string, unknown>): void {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
  }
}
