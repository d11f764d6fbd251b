/** A peer on `/ws` that reports each message as seen, and answers when it is told to. */

import { until } from "../waiting.ts";

export interface SocketPeerFields {
  readonly name: string;
  readonly circle?: string;
  readonly backend?: string;
  readonly path?: string;
  readonly model?: string;
  /** True if it takes interrupts. */
  readonly interrupts?: boolean;
}

interface Frame {
  readonly type: string;
  readonly delivery_id?: string;
  readonly correlation_id?: string;
  readonly text?: string;
  readonly peer_id?: string;
  readonly ping_id?: string;
  readonly request_id?: string;
}

export class SocketPeer {
  readonly #socket: WebSocket;
  readonly frames: Frame[] = [];
  peer_id = "";
  readonly name: string;
  #requests = 0;

  private constructor(socket: WebSocket, name: string) {
    this.#socket = socket;
    this.name = name;
  }

  static async connect(base: string, fields: SocketPeerFields): Promise<SocketPeer> {
    const { name, circle = "default", backend = "sdk", path = "/work", model } = fields;
    const socket = new WebSocket(`${base.replace("http", "ws")}/ws`);
    const peer = new SocketPeer(socket, name);
    socket.onmessage = ({ data }) => peer.#receive(JSON.parse(String(data)));
    await new Promise<void>((resolve, reject) => {
      socket.onopen = () => resolve();
      socket.onerror = () => reject(new Error(`${name} cannot connect`));
    });
    const capabilities = ["delivery_receipts", ...(fields.interrupts ? ["interrupt"] : [])];
    peer.send({ type: "connect", display_name: name, circle, backend, path, model, capabilities });
    await until(`${name} is connected`, () => peer.peer_id);
    return peer;
  }

  send(frame: Record<string, unknown>): void {
    this.#socket.send(JSON.stringify(frame));
  }

  /** A verb over the socket; returns its result. */
  async request(type: string, fields: Record<string, unknown>): Promise<Frame> {
    const request_id = `r${++this.#requests}`;
    this.send({ type, request_id, ...fields });
    return await until(
      `the result of ${type}`,
      () => this.frames.find((frame) => frame.request_id === request_id),
    );
  }

  /** The ask with this text, once it arrives. */
  async waitForAsk(text: string): Promise<string> {
    return await until(
      `the ask "${text}"`,
      () =>
        this.frames.find((frame) => frame.type === "ask" && frame.text === text)?.correlation_id,
    );
  }

  /** The frame that tells the end of an ask. */
  async waitForEnd(correlation_id: string): Promise<Frame> {
    return await until(
      `the end of ${correlation_id}`,
      () =>
        this.frames.find((frame) =>
          frame.type === "ack" && frame.correlation_id === correlation_id
        ),
    );
  }

  close(): void {
    this.#socket.close();
  }

  #receive(frame: Frame): void {
    this.frames.push(frame);
    if (frame.type === "connected") this.peer_id = frame.peer_id ?? "";
    if (frame.type === "ping") this.send({ type: "pong", ping_id: frame.ping_id });
    if (frame.delivery_id === undefined) return;
    for (const status of ["accepted", "seen"]) {
      this.send({ type: "delivery_ack", delivery_id: frame.delivery_id, status });
    }
  }
}
