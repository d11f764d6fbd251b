/** A peer on a real machine that answers each ask. */

import { ackAsk } from "protocol/asks/contract.ts";
import { Client, type MessageFrame } from "../../crash/client.ts";
import type { RealMachine } from "./real_machine.ts";

export class AnsweringPeer implements AsyncDisposable {
  readonly client: Client;
  /** In the order of their arrival, repeats included. */
  readonly frames: MessageFrame[] = [];
  readonly #machine: RealMachine;
  readonly #pending: Promise<unknown>[] = [];

  private constructor(
    machine: RealMachine,
    name: string,
    { answer, path }: { readonly answer: string | undefined; readonly path: string | undefined },
  ) {
    this.#machine = machine;
    this.client = new Client(name, {
      receipts: true,
      path,
      onMessage: (frame) => {
        this.frames.push(frame);
        if (frame.type === "ask" && answer !== undefined) this.#answer(frame, answer);
      },
    });
  }

  /** Connects a peer; without an answer, its asks stay open. */
  static async connect(
    machine: RealMachine,
    name: string,
    answer?: string,
    path?: string,
  ): Promise<AnsweringPeer> {
    const peer = new AnsweringPeer(machine, name, { answer, path });
    await peer.reconnect();
    return peer;
  }

  async reconnect(): Promise<void> {
    await this.client.connect(this.#machine.port);
  }

  get id(): string {
    return this.client.peer_id;
  }

  /** The texts of asks, notes and broadcasts, each delivery once. */
  get texts(): string[] {
    return this.client.appliedContents.filter((text) => !text.startsWith("end of "));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#pending);
    await this.client.disconnect();
  }

  #answer({ correlation_id = "" }: MessageFrame, message: string): void {
    const body = { correlation_id, message, from_peer: this.id };
    this.#pending.push(this.#machine.call(ackAsk, { body }));
  }
}
