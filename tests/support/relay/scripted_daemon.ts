/** The other end of a tunnel, frame by frame: a daemon that does exactly what a test says. */

import { type Data, type Ears, type Line } from "kit/net/tunnel/connection.ts";
import { type Frame, PROTOCOL } from "kit/net/tunnel/frames.ts";
import { packMessage, unpackMessage } from "kit/net/tunnel/message.ts";
import type { Dial } from "../../../daemon/api/relay/relay_client.ts";

export interface Wishes {
  readonly address: string;
  readonly secret: string;
  readonly daemon_id: string;
  /** What it says first; a fitting hello otherwise. */
  readonly hello?: unknown;
}

type Said = Frame | { type: "welcome" | "refused"; [key: string]: unknown };

export class ScriptedDaemon {
  readonly frames: Said[] = [];
  readonly chunks: { id: number; bytes: Uint8Array<ArrayBuffer> }[] = [];
  closed: { code: number; reason: string; fault?: string } | undefined;
  /** Called with each frame of text, after it was noted. */
  on: (frame: Said) => void = () => undefined;
  onChunk: (id: number, bytes: number) => void = () => undefined;
  #line: Line | undefined;
  readonly #opened = Promise.withResolvers<void>();

  /** Dials, and says hello as soon as the line stands. */
  static dial(dial: Dial, wishes: Wishes): ScriptedDaemon {
    const { address, secret, daemon_id } = wishes;
    const hello = wishes.hello ?? helloOf(daemon_id);
    const daemon = new ScriptedDaemon();
    const ears: Ears = {
      opened: () => {
        daemon.#line?.send(typeof hello === "string" ? hello : JSON.stringify(hello));
        daemon.#opened.resolve();
      },
      heard: (data) => daemon.#heard(data),
      closed: (code, reason, fault) => {
        daemon.closed = { code, reason, ...(fault !== undefined && { fault }) };
        daemon.#opened.resolve();
      },
    };
    const headers = { authorization: `Bearer ${secret}`, "x-mesh-daemon-id": daemon_id };
    daemon.#line = dial(`${address}/ws/daemon`, headers, ears);
    return daemon;
  }

  /** Resolves once the line stands, or never will. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  say(frame: unknown): void {
    this.sendBytes(packMessage([typeof frame === "string" ? frame : JSON.stringify(frame)]));
  }

  /** A piece of a body. */
  sayBytes(id: number, bytes: Uint8Array<ArrayBuffer>): void {
    this.sendBytes(packMessage([{ id, bytes }]));
  }

  /** A message as it is. */
  sendBytes(bytes: Uint8Array<ArrayBuffer>): void {
    this.#line?.send(bytes);
  }

  close(code = 1000): void {
    this.#line?.close(code, "");
  }

  of<T extends Said["type"]>(type: T): Extract<Said, { type: T }>[] {
    return this.frames.filter((frame): frame is Extract<Said, { type: T }> => frame.type === type);
  }

  #heard(data: Data): void {
    const items = typeof data === "string" ? [data] : unpackMessage(data);
    if (typeof items === "string") throw new Error(items);
    for (const item of items) {
      if (typeof item !== "string") {
        this.chunks.push(item);
        this.onChunk(item.id, item.bytes.length);
        continue;
      }
      const frame = JSON.parse(item) as Said;
      this.frames.push(frame);
      this.on(frame);
    }
  }
}

export function helloOf(machine: string) {
  const capabilities = { ask_pull_delivery: true };
  return { type: "hello", protocol: PROTOCOL, machine, version: "0.1.0", capabilities };
}
