/** A peer on `/ws` that reads every message at once and answers every ask with one text. */

import { systemClock } from "kit/core/clock.ts";
import { readSettings } from "../../../cli/client/settings.ts";
import { runningDaemon } from "../../../daemon/host/runtime_file.ts";
import type { Env } from "../../../daemon/host/paths.ts";

const RECONNECT_MS = 50;

interface Frame {
  readonly type: string;
  readonly request_id?: string;
  readonly delivery_id?: string;
  readonly correlation_id?: string;
  readonly ping_id?: string;
}

interface SamplePeerOptions {
  readonly name: string;
  readonly reply: string;
  /** Delay of each answer. */
  readonly reply_ms: number;
  readonly env: Env;
}

export class SamplePeer {
  readonly #options: SamplePeerOptions;
  readonly #results = new Map<string, (frame: Frame) => void>();
  #socket: WebSocket | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #requests = 0;
  #closed = Promise.withResolvers<void>();
  #isClosing = false;

  constructor(options: SamplePeerOptions) {
    this.#options = options;
    this.#connect();
  }

  /** Sends a request, such as an ask; returns its result. */
  request(type: string, fields: Record<string, unknown>): Promise<Frame> {
    const request_id = String(++this.#requests);
    const { promise, resolve } = Promise.withResolvers<Frame>();
    this.#results.set(request_id, resolve);
    this.#send({ type, request_id, ...fields });
    return promise;
  }

  close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#timer);
    if (!this.#socket || this.#socket.readyState === WebSocket.CLOSED) this.#closed.resolve();
    else this.#socket.close();
    return this.#closed.promise;
  }

  #connect(): void {
    const { name, env } = this.#options;
    const url = runningDaemon(env)?.url;
    if (url === undefined) return this.#connectLater();
    const auth_token = readSettings(env)["daemon.auth_token"]?.reveal();
    const socket = this.#socket = new WebSocket(new URL("/ws", url.replace(/^http/, "ws")));
    socket.onopen = () =>
      this.#send({
        type: "connect",
        display_name: name,
        backend: "sdk",
        path: `/home/sam/work/${name}`,
        metadata: { client_id: `documents-${name}` },
        capabilities: ["delivery_receipts"],
        ...(auth_token !== undefined && { auth_token }),
      });
    socket.onmessage = ({ data }) => this.#handle(JSON.parse(String(data)));
    socket.onerror = (event) => event.preventDefault();
    socket.onclose = () => this.#isClosing ? this.#closed.resolve() : this.#connectLater();
  }

  #connectLater(): void {
    this.#timer = setTimeout(() => this.#connect(), RECONNECT_MS);
  }

  #handle(frame: Frame): void {
    const { type, request_id, delivery_id, correlation_id, ping_id } = frame;
    if (type === "ping") this.#send({ type: "pong", ping_id });
    if (type === "result" && request_id !== undefined) this.#results.get(request_id)?.(frame);
    if (delivery_id !== undefined) {
      this.#send({ type: "delivery_ack", delivery_id, status: "seen" });
    }
    if (type === "ask") void this.#answer(correlation_id);
  }

  async #answer(correlation_id: string | undefined): Promise<void> {
    const { reply, reply_ms } = this.#options;
    if (reply_ms > 0) await systemClock.sleep(reply_ms);
    await this.request("ack", { correlation_id, message: reply });
  }

  #send(frame: Record<string, unknown>): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(frame));
  }
}
