/** A daemon at the other end of a tunnel that sends exactly the frames of a test. */

import {
  type Connection,
  type ConnectionListener,
  type FrameData,
} from "kit/net/tunnel/connection.ts";
import { type Frame, PROTOCOL } from "kit/net/tunnel/frames.ts";
import { packMessage, unpackMessage } from "kit/net/tunnel/packing.ts";
import type { OpenSocket } from "../../../daemon/api/relay/relay_client.ts";

export interface DialOptions {
  readonly address: string;
  readonly secret: string;
  readonly daemon_id: string;
  /** Its first frame; a valid hello by default. */
  readonly hello?: unknown;
}

type ReceivedFrame = Frame | { type: "welcome" | "refused"; [key: string]: unknown };

export class ScriptedDaemon {
  readonly frames: ReceivedFrame[] = [];
  readonly chunks: { id: number; bytes: Uint8Array<ArrayBuffer> }[] = [];
  closed: { code: number; reason: string; error?: string } | undefined;
  /** Called with each JSON frame after it was recorded. */
  on: (frame: ReceivedFrame) => void = () => undefined;
  onChunk: (id: number, bytes: number) => void = () => undefined;
  #connection: Connection | undefined;
  readonly #opened = Promise.withResolvers<void>();

  /** Connects, and sends hello when the connection is open. */
  static openSocket(openSocket: OpenSocket, options: DialOptions): ScriptedDaemon {
    const { address, secret, daemon_id } = options;
    const hello = options.hello ?? helloFrame(daemon_id);
    const daemon = new ScriptedDaemon();
    const listener: ConnectionListener = {
      opened: () => {
        daemon.#connection?.send(typeof hello === "string" ? hello : JSON.stringify(hello));
        daemon.#opened.resolve();
      },
      received: (data) => daemon.#receive(data),
      closed: (code, reason, error) => {
        daemon.closed = { code, reason, ...(error !== undefined && { error }) };
        daemon.#opened.resolve();
      },
    };
    const headers = { authorization: `Bearer ${secret}`, "x-mesh-daemon-id": daemon_id };
    daemon.#connection = openSocket(`${address}/ws/daemon`, headers, listener);
    return daemon;
  }

  /** Resolves when the connection is open or has failed. */
  get whenOpened(): Promise<void> {
    return this.#opened.promise;
  }

  sendFrame(frame: unknown): void {
    this.sendBytes(packMessage([typeof frame === "string" ? frame : JSON.stringify(frame)]));
  }

  /** Sends a chunk of a body. */
  sendChunk(id: number, bytes: Uint8Array<ArrayBuffer>): void {
    this.sendBytes(packMessage([{ id, bytes }]));
  }

  /** Sends a message unchanged. */
  sendBytes(bytes: Uint8Array<ArrayBuffer>): void {
    this.#connection?.send(bytes);
  }

  close(code = 1000): void {
    this.#connection?.close(code, "");
  }

  of<T extends ReceivedFrame["type"]>(type: T): Extract<ReceivedFrame, { type: T }>[] {
    return this.frames.filter((frame): frame is Extract<ReceivedFrame, { type: T }> =>
      frame.type === type
    );
  }

  #receive(data: FrameData): void {
    const items = typeof data === "string" ? [data] : unpackMessage(data);
    if (typeof items === "string") throw new Error(items);
    for (const item of items) {
      if (typeof item !== "string") {
        this.chunks.push(item);
        this.onChunk(item.id, item.bytes.length);
        continue;
      }
      const frame = JSON.parse(item) as ReceivedFrame;
      this.frames.push(frame);
      this.on(frame);
    }
  }
}

export function helloFrame(machine: string) {
  const capabilities = { ask_pull_delivery: true };
  return { type: "hello", protocol: PROTOCOL, machine, version: "0.1.0", capabilities };
}
