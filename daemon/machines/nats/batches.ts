/** Reads the batches for this machine from the stream, in order and one at a time. */

import type { ConsumerMessages, JetStreamClient } from "@nats-io/jetstream";
import type { Context } from "../../data/context.ts";
import { doublingMs, pause } from "kit/core/timeout.ts";
import { IdentityInUse } from "../bus.ts";
import { libraries, type NatsConnection } from "./libraries.ts";
import { senderOf, STREAM, SUBJECTS } from "./names.ts";
import { apiCodeOf, CONSUMER_NOT_FOUND_CODE } from "./reasons.ts";

/** Batches that the server sends ahead of the batch that is being handled. */
const AHEAD_MAX = 16;
/** After this time without an acknowledgement, the server repeats a batch. */
const ACK_MS_MAX = 30_000;
/** First and longest wait of a rejected batch. */
const RETRY_MS = { first: 1000, max: 30_000 };

interface BatchReaderDeps extends Pick<Context, "clock" | "log"> {
  readonly daemonId: string;
  readonly deliver: (from: string, batch: Uint8Array) => Promise<void>;
  /** The consumer is gone; the session must begin again. */
  readonly fail: (error: unknown) => void;
}

/**
 * The consumer is made anew for each session and after each rejected batch. So the server sends
 * everything that is not acknowledged, from the oldest on: a redelivery by the server's own timer
 * would come 30 s later, and behind newer batches.
 */
export class BatchReader {
  readonly #deps: BatchReaderDeps;
  readonly #connection: NatsConnection;
  readonly #client: JetStreamClient;
  readonly #closed = new AbortController();
  #messages: ConsumerMessages | undefined;

  private constructor(connection: NatsConnection, client: JetStreamClient, deps: BatchReaderDeps) {
    this.#deps = deps;
    this.#connection = connection;
    this.#client = client;
  }

  /** Resolves once the consumer exists; then batches are delivered until `close`. */
  static async open(
    connection: NatsConnection,
    client: JetStreamClient,
    deps: BatchReaderDeps,
  ): Promise<BatchReader> {
    const reader = new BatchReader(connection, client, deps);
    const messages = await reader.#bind();
    void reader.#run(messages).catch((error) => {
      if (!reader.#isClosed()) deps.fail(error);
    });
    return reader;
  }

  close(): void {
    this.#closed.abort();
    this.#messages?.stop();
  }

  #isClosed(): boolean {
    return this.#closed.signal.aborted || this.#connection.isClosed();
  }

  async #run(first: ConsumerMessages): Promise<void> {
    let messages = first;
    for (let rejections = 0;;) {
      const outcome = await this.#read(messages);
      if (this.#isClosed()) return;
      if (outcome === "ended") throw new Error("the server removed the consumer of this machine");
      rejections = outcome === "rejected_first" ? rejections + 1 : 1;
      const wait_ms = doublingMs(RETRY_MS, rejections - 1);
      await pause(this.#deps.clock, wait_ms, this.#closed.signal);
      if (this.#isClosed()) return;
      messages = await this.#bind();
    }
  }

  async #read(messages: ConsumerMessages): Promise<"ended" | "rejected" | "rejected_first"> {
    let handled = 0;
    for await (const message of messages) {
      const from = senderOf(message.subject);
      if (from === undefined) {
        message.term();
        continue;
      }
      try {
        await this.#deps.deliver(from, message.data);
      } catch (error) {
        messages.stop();
        // A new consumer would take batches away from the daemon that holds the identity now.
        if (error instanceof IdentityInUse) throw error;
        this.#deps.log.warn("A batch could not be taken; it comes again", { from, error });
        return handled === 0 ? "rejected_first" : "rejected";
      }
      if (this.#isClosed()) return "ended";
      message.ack();
      handled++;
    }
    return "ended";
  }

  async #bind(): Promise<ConsumerMessages> {
    const { jetstream } = await libraries();
    const { daemonId } = this.#deps;
    const manager = await this.#client.jetstreamManager(false);
    try {
      await manager.consumers.delete(STREAM, daemonId);
    } catch (error) {
      if (apiCodeOf(error) !== CONSUMER_NOT_FOUND_CODE) throw error;
    }
    await manager.consumers.add(STREAM, {
      durable_name: daemonId,
      filter_subject: SUBJECTS.batches(daemonId),
      ack_policy: jetstream.AckPolicy.Explicit,
      ack_wait: ACK_MS_MAX * 1_000_000,
      max_ack_pending: AHEAD_MAX,
    });
    const consumer = await this.#client.consumers.get(STREAM, daemonId);
    this.#messages = await consumer.consume({
      max_messages: AHEAD_MAX,
      abort_on_missing_resource: true,
    });
    void this.#endWithConsumer(this.#messages);
    return this.#messages;
  }

  /** The client goes on waiting where somebody removed the consumer. */
  async #endWithConsumer(messages: ConsumerMessages): Promise<void> {
    for await (const { type } of messages.status()) {
      if (type === "consumer_deleted") messages.stop();
    }
  }
}
