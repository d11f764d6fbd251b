/** The operator of a server, who can read, remove and write everything in its stream. */

import { jetstream } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { STREAM, SUBJECTS } from "../../../daemon/machines/nats/names.ts";
import type { RealMachine } from "./real_machine.ts";
import type { RealNetwork } from "./real_network.ts";

export interface StoredBatch {
  readonly seq: number;
  readonly subject: string;
  readonly data: Uint8Array;
}

export class Operator {
  readonly #connection: NatsConnection;

  private constructor(connection: NatsConnection) {
    this.#connection = connection;
  }

  static async connect({ bus, server }: RealNetwork): Promise<Operator> {
    return new Operator(await bus.connect({ seed: server.admin.seed }));
  }

  /**
   * Recreates the stream without its protection from members, which binds the operator as well.
   * Call this before machines join.
   */
  async unprotect(): Promise<void> {
    const { streams } = await this.#manager();
    const { config } = await streams.info(STREAM);
    await streams.delete(STREAM);
    await streams.add({ ...config, deny_delete: false, deny_purge: false });
  }

  /** The batches that wait for a machine, the oldest first. */
  async waitingFor({ id }: RealMachine): Promise<StoredBatch[]> {
    const { streams } = await this.#manager();
    const { state } = await streams.info(STREAM);
    const found: StoredBatch[] = [];
    for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
      const stored = await streams.getMessage(STREAM, { seq }).catch(() => null);
      if (!stored?.subject.startsWith(SUBJECTS.batch(id, ""))) continue;
      found.push({ seq, subject: stored.subject, data: stored.data.slice() });
    }
    return found;
  }

  async remove({ seq }: StoredBatch): Promise<void> {
    await (await this.#manager()).streams.deleteMessage(STREAM, seq);
  }

  /** Puts bytes into the stream, as if one machine had sent them to the other. */
  async put(from: RealMachine, to: RealMachine, data: Uint8Array): Promise<void> {
    await jetstream(this.#connection).publish(SUBJECTS.batch(to.id, from.id), data);
  }

  /** The size of the stream, in bytes. */
  async bytes(): Promise<number> {
    return (await (await this.#manager()).streams.info(STREAM)).state.bytes;
  }

  #manager() {
    return jetstream(this.#connection).jetstreamManager(false);
  }
}
